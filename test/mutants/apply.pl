# usage: perl apply.pl LIST NUMBER ROOT. Puts the deliberate bug with this number, from 1, into the sources below ROOT.
# With number 0 it prints the names, a line each.
use strict;
use warnings;

my ($list, $number, $root) = @ARGV;
open(my $in, '<', $list) or die "$list: $!\n";
my (@mutants, $edit, $side);
while (my $line = <$in>) {
    if ($line =~ /^#/ or $line =~ /^\s*$/) { next }
    elsif ($line =~ /^@ (\S+)$/) { push @{$mutants[-1]{edits}}, $edit = {file => $1, '-' => '', '+' => ''} }
    elsif ($line =~ /^([-+])(.*)$/s) { $edit->{$1} .= $2 }
    else { chomp $line; push @mutants, {name => $line, edits => []} }
}
if ($number == 0) {
    print "$_->{name}\n" for @mutants;
    exit 0;
}
for my $e (@{$mutants[$number - 1]{edits}}) {
    my $path = "$root/$e->{file}";
    open(my $f, '<', $path) or die "$path: $!\n";
    my $text = do { local $/; <$f> };
    close $f;
    # A last line may stop in the middle of one, so that the next words tell where it stands.
    my ($from, $to) = ($e->{'-'}, $e->{'+'});
    chomp $from;
    chomp $to;
    my $count = () = $text =~ /\Q$from\E/g;
    die "$e->{file}: what the bug \"$mutants[$number - 1]{name}\" replaces stands there $count times, not once\n" if $count != 1;
    $text =~ s/\Q$from\E/$to/;
    open($f, '>', $path) or die "$path: $!\n";
    print $f $text;
}
