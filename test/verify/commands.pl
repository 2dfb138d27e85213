# Whether `./dev` and `./dev more` list each command of `./dev` once, and pages and scripts name no other command.
# usage: perl commands.pl ROOT
use strict;
use warnings;

my $most = 12;  # of the usual commands: a reader sees them at once

my ($root) = @ARGV;
chdir $root or die "$root: $!\n";

sub text_of { my ($path) = @_; open(my $f, '<', $path) or die "$path: $!\n"; local $/; return scalar <$f> }
sub listed { my ($usage) = @_; return $usage =~ /^  ([a-z]+)(?= )/mg }

my @wrong;
my $usual = qx(./dev);
my $more = qx(./dev more);
my @usual = listed($usual);
my @more = listed($more);
push @wrong, "./dev lists " . @usual . " commands, more than $most\n" if @usual > $most;

my %listed;
for (@usual, @more) { push @wrong, "\"$_\" is listed twice\n" if $listed{$_}++ }
my %known = map { $_ => 1 } text_of('dev') =~ /^([a-z]+)\)$/mg;
push @wrong, map { "./dev $_ is in no list\n" } grep { !$listed{$_} } sort keys %known;
push @wrong, map { "\"$_\" is listed, and no command\n" } grep { !$known{$_} } sort keys %listed;

my @texts = (qw(README.md CHANGELOG.md CONTRIBUTING.md .ci/run test/verify/run), glob('docs/*.md docs/how-to/*.md packaging/checks/*'));
for my $path (@texts) {
    for (text_of($path) =~ m{\./dev ([a-z]+)}g) { push @wrong, "$path: there is no ./dev $_\n" if !$known{$_} }
}

print @wrong;
print scalar(keys %known), " commands, $most of them or fewer in the first list\n" if !@wrong;
exit(@wrong ? 1 : 0);
