#!/usr/bin/perl
# Counts what makes the documents and the public headers hard to read, and fails above a budget.
# usage: language.pl ROOT [--list | FILE…]     --list prints each finding; FILEs are read in place of all, and listed
#
# The budget is only ever lowered. It is a floor, not the goal: a page can pass and still be hard to read.
use strict;
use warnings;
use utf8;
use open qw(:std :encoding(UTF-8));

my %budget = (opening => 5, long => 20, wide => 10);  # sentences, sentences, lines

my $longest_sentence = 35;  # words
my $widest_line = 120;      # columns, outside tables and code

# A sentence that begins so hides its subject. A question may, and a title.
my $opening = qr/^(?:Who|Whoever|Whom|Whose|What|Whatever|Of|Nor|So it|So is|So are|So does|So do)\b/;

my ($root, @rest) = @ARGV;
die "usage: language.pl ROOT [--list | FILE…]\n" unless defined $root && -d $root;
chdir $root or die "$root: $!\n";
my $list = @rest > 0;
my @files = grep { $_ ne '--list' } @rest;
@files = (glob('*.md docs/*.md'), glob('include/*.hpp include/*/*.hpp')) unless @files;

my (%found, $sentences);

sub note {
    my ($kind, $file, $line, $text) = @_;
    ++$found{$kind};
    print "$file:$line: $kind: ", length $text > 100 ? substr($text, 0, 100) . '…' : $text, "\n" if $list;
}

# What a reader counts as a word: links and code are what they show.
sub plain {
    my $text = shift;
    $text =~ s/<!--.*?-->//gs;
    $text =~ s/!?\[([^\]]*)\]\([^)]*\)/$1/g;
    $text =~ s/`[^`]*`/code/g;
    $text =~ s/[*_]{1,3}(?=\S)|(?<=\S)[*_]{1,3}//g;
    $text =~ s/[@\\](?:ref|param|p|c|throws|return)\b//g;
    return $text;
}

sub paragraph {
    my ($file, $line, $text) = @_;
    $text = plain($text);
    $text =~ s/\b(?:e\.g|i\.e|etc|vs)\./$&\x01/g;
    for my $sentence (split /(?<=[.!?])["”)]?\s+(?=["“(]?[A-Z0-9])/, $text) {
        $sentence =~ s/^[\s"“(]+|\s+$//g;
        next unless $sentence =~ /\w/;
        ++$sentences;
        note('opening', $file, $line, $sentence) if $sentence =~ $opening && $sentence =~ /[.:;!]["”)]?$/;
        my $words = () = $sentence =~ /\S*\w\S*/g;
        note('long', $file, $line, "$words words: $sentence") if $words > $longest_sentence;
    }
}

# The paragraphs of a page: lines of prose up to an empty one, a list item, a table, a heading or code.
sub read_page {
    my ($file, @lines) = @_;
    my ($text, $begin, $in_code) = ('', 0, 0);
    my $end = sub { paragraph($file, $begin, $text) if $text =~ /\w/; $text = '' };
    for my $i (0 .. $#lines) {
        my $line = $lines[$i];
        if ($line =~ /^\s*```/) { $end->(); $in_code = !$in_code; next }
        next if $in_code;
        if ($line =~ /^\s*\|/ || $line =~ /^#/ || $line !~ /\S/) { $end->(); next }
        note('wide', $file, $i + 1, $line) if length $line > $widest_line;
        $end->() if $line =~ s/^\s*(?:[-*]|\d+\.)\s+//;
        $begin = $i + 1 if $text eq '';
        $text .= ' ' . $line;
    }
    $end->();
}

# The comments of a header: what follows //, ///, or stands between /** and */.
sub read_header {
    my ($file, @lines) = @_;
    my ($text, $begin, $in_comment) = ('', 0, 0);
    my $end = sub { paragraph($file, $begin, $text) if $text =~ /\w/; $text = '' };
    for my $i (0 .. $#lines) {
        my $line = $lines[$i];
        note('wide', $file, $i + 1, $line) if length $line > $widest_line;
        my ($said, $last) = ('', 0);
        if ($in_comment) {
            $last = $line =~ s/\*\/.*//;
            $said = $line;
            $in_comment = !$last;
        } elsif ($line =~ /\/\*\*?(.*)/) {
            $said = $1;
            $last = $said =~ s/\*\/.*//;
            $in_comment = !$last;
        } elsif ($line =~ /^(.*?)\/\/+[!<]?\s?(.*)/) {
            $said = $2;
            $end->() if $1 =~ /\S/;  # of one member
        } else {
            $end->();
            next;
        }
        $end->() if $said !~ /\w/ || $said =~ /^\s*[@\\](?:param|return|throws|code|endcode)/ || $said =~ s/^\s*- //;
        $begin = $i + 1 if $text eq '';
        $text .= ' ' . $said;
        $end->() if $last;
    }
    $end->();
}

for my $file (@files) {
    open my $in, '<:encoding(UTF-8)', $file or die "$file: $!\n";
    chomp(my @lines = <$in>);
    $file =~ /\.md$/ ? read_page($file, @lines) : read_header($file, @lines);
}

my $failed = 0;
my %about = (opening => "begin with Who, What, Of, Nor or So it", long => "have more than $longest_sentence words",
             wide => "lines are wider than $widest_line columns");
printf "%d sentences in %d files\n", $sentences // 0, scalar @files;
for my $kind (qw(opening long wide)) {
    my $count = $found{$kind} // 0;
    my $share = $kind eq 'wide' || !$sentences ? '' : sprintf ' (%.1f %%)', 100 * $count / $sentences;
    printf "%d%s %s%s\n", $count, $share, $about{$kind}, $list ? '' : "; the budget is $budget{$kind}";
    $failed = 1 if !$list && $count > $budget{$kind};
}
print "language.pl ROOT --list names them; docs/testing.md\n" if $failed;
exit $failed;
