# Whether the includes of the sources are as docs/architecture.md draws them, and go in no circle.
# usage: perl layers.pl ROOT
#
# The drawing is the first block of code below "## The layers". A line "a ← b ← c" says that what is in folder b may include what
# is in a, and c what is in b, and all that those may. The table of hooks, whose header begins with "| hook", names the files that
# include a header of a leaf folder. What is outside of src may include anything.
use strict;
use warnings;
use utf8;
binmode $_, ':utf8' for *STDOUT, *STDERR;

my ($root) = @ARGV;
chdir $root or die "$root: $!\n";

sub lines_of { my ($path) = @_; open(my $f, '<:utf8', $path) or die "$path: $!\n"; return <$f>; }

my (%may, %hooks, @wrong);
my $where = '';
for (lines_of('docs/architecture.md')) {
    if (/^## The layers/) { $where = 'layers' }
    elsif (/^## /) { $where = '' }
    elsif ($where eq 'layers' and /^```/) { $where = 'drawing' }
    elsif ($where eq 'drawing' and /^```/) { $where = 'table' }
    elsif ($where eq 'drawing' and /←/) {
        my @rooms = map { /([\w.\/]+)/ ? $1 : () } split /←/;
        $may{$_} //= {} for @rooms;
        $may{$rooms[$_]}{$rooms[$_ - 1]} = 1 for 1 .. $#rooms;
    }
    elsif ($where eq 'table' and /^\| hook/) { $where = 'hooks' }
    elsif ($where eq 'hooks' and /^\| `([^`]+)` \| `([^`]+)`/) { $hooks{"src/$1 src/$2"} = 0 }
}
die "docs/architecture.md: there is no drawing of the layers\n" if !%may;
for my $again (1 .. keys %may) {  # what may be included by what may be included
    for my $room (keys %may) { $may{$room}{$_} = 1 for map { keys %{$may{$_}} } keys %{$may{$room}} }
}
for my $room (sort keys %may) { push @wrong, "docs/architecture.md: \"$room\" is drawn in a circle\n" if $may{$room}{$room} }

my (%includes, @files);
open(my $found, '-|', 'find', qw(src test bench docs/examples include -name *.[ch]pp -o -name *.[ch]pp.in)) or die "find: $!\n";  # a bare system has no File::Find
chomp(@files = <$found>);
close $found or die "find has failed\n";
my %ours = map { s/\.in$//r => 1 } grep { m{^src/} } @files;
sub room_of { my ($path) = @_; return $path =~ m{^src/((?:\w+/)*)\w+\.} && $1 ? $1 =~ s{/$}{}r : 'src' }
my $std = qr{^<[a-z_0-9]+>$};
my $plain = qr{^<redlock/(clock|quarantine_reason|restart_guard|server_identity)\.hpp>$};  # they include the standard library, and a macro
for my $file (sort @files) {
    my $room = $file =~ m{^src/} ? room_of($file) : '';
    push @wrong, "$file: src/$room is not in the drawing\n" if $room and !$may{$room};
    my $unit = $file =~ s/\.[ch]pp(\.in)?$//r;
    for (lines_of($file)) {
        next if !/^\s*#\s*include\s+(<[^>]+>|"[^"]+")/;
        my $what = $1;
        if ($room eq 'core' and $what !~ $std and $what !~ /^"core\// and $what !~ $plain) {
            push @wrong, "$file: includes $what, but core is for the standard library and some public headers\n";
        }
        next if $what !~ /^"(.*)"$/;
        my ($path) = grep { $ours{$_} } "src/$1" or next;
        my $target = room_of($path);
        $includes{$unit}{$path =~ s/\.[ch]pp$//r} = 1 if $room and $path =~ s/\.[ch]pp$//r ne $unit;
        next if !$room or $target eq $room or $may{$room}{$target};
        if (exists $hooks{"$file $path"}) { ++$hooks{"$file $path"}; next }
        push @wrong, "$file: includes $path, which the drawing in docs/architecture.md does not allow\n";
    }
}
for my $hook (sort keys %hooks) { push @wrong, "docs/architecture.md: the hook $hook is not used\n" if !$hooks{$hook} }

# Circles: a unit is a header and its source.
my %state;
sub visit {
    my ($unit, @path) = @_;
    return if ($state{$unit} // '') eq 'done';
    if (($state{$unit} // '') eq 'open') {
        shift @path while $path[0] ne $unit;
        push @wrong, 'a circle of includes: ' . join(' → ', @path, $unit) . "\n";
        return;
    }
    $state{$unit} = 'open';
    visit($_, @path, $unit) for sort keys %{$includes{$unit}};
    $state{$unit} = 'done';
}
visit($_) for sort keys %includes;

# The walks, and the table "to find … open …": what they name is there.
my ($section, %stays) = ('');
for (lines_of('docs/architecture.md')) {
    if (/^## (.*)/) { $section = $1 }
    next if $section !~ /^(Where to look|Five walks)/ or !/^\|/ or /^\|[- |]+$/;
    for my $name (/`([\w\/.*]+\.(?:[ch]pp|sql|lua|cmake))`/g) {
        my @there = $name =~ m{/} ? grep { -e or m{\*} && glob } map { "$_/$name" } 'src', 'include/redlock', '.' : grep { m{/\Q$name\E$} } @files;
        push @wrong, "docs/architecture.md, $section: there is no $name\n" if !@there;
    }
    # A step of the walk of an acquisition: its functions are in its file.
    next if $section !~ /^Five walks/ or !/^\| (\d+) \| `([^`]+)` \| (.*) \|$/;
    my ($step, $file, $text) = ($1, $2, $3);
    push @wrong, "docs/architecture.md: the walk has $step files, at most 16 are allowed\n" if $step > 16;
    push @wrong, "docs/architecture.md: the walk enters $file more than twice\n" if ++$stays{$file} > 2;
    my ($path) = grep { -e } "src/$file", $file or next;
    my $code = join '', map { lines_of($_) } grep { -e } map { $path =~ s/[ch]pp$/$_/r } 'hpp', 'cpp';
    for my $name ($text =~ /`([a-z][\w:]*)`/g) {
        push @wrong, "docs/architecture.md, step $step: $file has no $name\n" if $code !~ /\b$name\b/;
    }
}
push @wrong, "docs/architecture.md: there is no walk of an acquisition\n" if !%stays;

die @wrong if @wrong;
printf "%d files, %d rooms: as drawn, and no circles\n", scalar @files, scalar keys %may;
