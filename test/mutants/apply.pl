# Reads the list of deliberate bugs (mutants.txt, whose header describes the format):
#   perl apply.pl LIST names                 prints the names, a line each
#   perl apply.pl LIST promises              prints the promise that each bug breaks, in the same order
#   perl apply.pl LIST files NUMBER          prints the files that the bug with this number, from 1, changes
#   perl apply.pl LIST apply NUMBER ROOT     puts the bug into the sources below ROOT
#   perl apply.pl LIST check ROOT KILLERS    checks the list, that each bug can be put in, and that KILLERS has one line for each
use strict;
use warnings;

my $bugs_max = 120;  # a run takes long, and each bug must follow the code that it changes

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
    elsif ($line =~ /^= (.+)$/) {
        die "$list: \"= $1\" is not directly below a name\n" if !@mutants or $mutants[-1]{promise} or @{$mutants[-1]{edits}};
        $mutants[-1]{promise} = $1;
    }
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
    push @wrong, "$list: " . @mutants . " bugs, at most $bugs_max are allowed: drop one before you add one\n" if @mutants > $bugs_max;
    for my $m (@mutants) {
        push @wrong, "two bugs are called \"$m->{name}\"\n" if $named{$m->{name}}++;
        push @wrong, "the name of \"$m->{name}\" has more than 70 characters\n" if length $m->{name} > 70;
        push @wrong, "\"$m->{name}\" has no promise: add a line \"= PROMISE\" below its name\n" if !$m->{promise};
        push @wrong, "the promise of \"$m->{name}\" has more than 100 characters\n" if length($m->{promise} // '') > 100;
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
    print scalar(@mutants), " bugs can be put in; each has a promise, and it is known what catches it\n";
}

if ($what eq 'names') {
    print "$_->{name}\n" for @mutants;
} elsif ($what eq 'promises') {
    print $_->{promise} // '', "\n" for @mutants;
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
