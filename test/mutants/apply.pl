# The list of deliberate bugs, as others want it:
#   perl apply.pl LIST names                 their names, a line each
#   perl apply.pl LIST files NUMBER          what the bug with this number, from 1, changes
#   perl apply.pl LIST apply NUMBER ROOT     puts it into the sources below ROOT
#   perl apply.pl LIST check ROOT KILLERS    whether each can be put in, and each has a line in KILLERS, and no other has
use strict;
use warnings;

my ($list, $what, @arguments) = @ARGV;

sub read_file {
    my ($path) = @_;
    open(my $f, '<', $path) or die "$path: $!\n";
    local $/;
    return <$f>;
}

my (@mutants, $edit);
for my $line (split /^/, read_file($list)) {
    if ($line =~ /^#/ or $line =~ /^\s*$/) { next }
    elsif ($line =~ /^@ (\S+)$/) { push @{$mutants[-1]{edits}}, $edit = {file => $1, '-' => '', '+' => ''} }
    elsif ($line =~ /^([-+])(.*)$/s) { $edit->{$1} .= $2 }
    else { chomp $line; push @mutants, {name => $line, edits => []} }
}
# A last line may stop in the middle of one, so that the next words tell where it stands.
for my $m (@mutants) {
    for my $e (@{$m->{edits}}) { chomp @{$e}{'-', '+'} }
}

# The changed files of a mutant, by path below $root.
sub mutate {
    my ($m, $root) = @_;
    my %changed;
    for my $e (@{$m->{edits}}) {
        my $text = $changed{$e->{file}} // read_file("$root/$e->{file}");
        my $count = () = $text =~ /\Q$e->{'-'}\E/g;
        die "$e->{file}: what the bug \"$m->{name}\" replaces stands there $count times, not once\n" if $count != 1;
        die "$e->{file}: the bug \"$m->{name}\" changes nothing\n" if $e->{'-'} eq $e->{'+'};
        $text =~ s/\Q$e->{'-'}\E/$e->{'+'}/;
        $changed{$e->{file}} = $text;
    }
    die "the bug \"$m->{name}\" has no lines\n" if !%changed;
    return %changed;
}

sub check {
    my ($root, $killers) = @_;
    my (%named, %killed, @wrong);
    for my $m (@mutants) {
        push @wrong, "two bugs are called \"$m->{name}\"\n" if $named{$m->{name}}++;
        push @wrong, $@ if !eval { mutate($m, $root); 1 };
    }
    for my $line (grep { !/^#/ } split /\n/, read_file($killers)) {
        my ($name, $how) = split / = /, $line, 2;
        push @wrong, "$killers: \"$line\" is no bug and what catches it\n" if !$how;
        push @wrong, "$killers: there is no bug \"$name\"\n" if !$named{$name};
        push @wrong, "$killers: \"$name\" stands there twice\n" if $killed{$name}++;
    }
    push @wrong, map { "$killers: \"$_\" is missing; ./dev mutants $_\n" } grep { !$killed{$_} } sort keys %named;
    die @wrong if @wrong;
    print scalar(@mutants), " bugs can be put in, and it is known what catches them\n";
}

if ($what eq 'names') {
    print "$_->{name}\n" for @mutants;
} elsif ($what eq 'files') {
    my %files = map { $_->{file} => 1 } @{$mutants[$arguments[0] - 1]{edits}};
    print "$_\n" for sort keys %files;
} elsif ($what eq 'apply') {
    my ($number, $root) = @arguments;
    my %changed = mutate($mutants[$number - 1], $root);
    for my $file (keys %changed) {
        open(my $f, '>', "$root/$file") or die "$root/$file: $!\n";
        print $f $changed{$file};
        close $f or die "$root/$file: $!\n";
    }
} elsif ($what eq 'check') {
    check(@arguments);
} else {
    die "apply.pl: what is \"$what\"?\n";
}
