#!/usr/bin/perl
# Counts what makes pages, comments and names of tests hard to read, and fails above a budget.
# usage: language.pl ROOT [--list | FILE…]     --list prints each finding; FILEs are read in place of all, and listed
#
# The budget is only ever lowered. It is a floor, not the goal: a page can pass and still be hard to read.
use strict;
use warnings;
use File::Find;
use utf8;
use open qw(:std :encoding(UTF-8));

my %budget = (pages => {opening => 0, long => 10, wide => 7, name => 0},  # sentences, sentences, lines, names of tests
              sources => {opening => 0, long => 10, wide => 8, name => 0});

my %longest_sentence = (pages => 35, sources => 25);  # words
my $widest_line = 120;      # columns, outside tables and code

# A sentence that begins so hides its subject. A question may, and a title.
my $opening = qr/^(?:Who|Whoever|Whom|Whose|What|Whatever|Of|Nor|So it|So is|So are|So does|So do)\b/;

# The name of a test begins with what it tests: <what is called>_<condition>_<result>.
my $longest_name = 70;  # characters
my $test_case = qr/\bBOOST_[A-Z_]*TEST_CASE(?:_TEMPLATE)?\(\s*(\w+)/;
my $no_call = qr/^(?:who|whoever|whom|whose|what|whatever|which|of|it|its|so|nor|the|a|an|and|that|this|any|no|each|every|all|one|two|rule)_/;

my ($root, @rest) = @ARGV;
die "usage: language.pl ROOT [--list | FILE…]\n" unless defined $root && -d $root;
chdir $root or die "$root: $!\n";
my $list = @rest > 0;
my @files = grep { $_ ne '--list' } @rest;
my @all = glob('*.md docs/*.md docs/how-to/*.md');
if (!@files) {
    find(sub { push @all, $File::Find::name if /\.[ch]pp$/ }, qw(include src bench test docs/examples));
    @files = sort @all;
}

my (%found, %sentences, $group);

sub note {
    my ($kind, $file, $line, $text) = @_;
    ++$found{$group}{$kind};
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
        ++$sentences{$group};
        note('opening', $file, $line, $sentence) if $sentence =~ $opening && $sentence =~ /[.:;!]["”)]?$/;
        my $words = () = $sentence =~ /\S*\w\S*/g;
        note('long', $file, $line, "$words words: $sentence") if $words > $longest_sentence{$group};
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

# The comments of a source: what follows //, ///, or stands between /* and */. And the names of its tests.
sub read_source {
    my ($file, @lines) = @_;
    my ($text, $begin, $in_comment, $in_raw) = ('', 0, 0, undef);
    my $end = sub { paragraph($file, $begin, $text) if $text =~ /\w/; $text = '' };
    for my $i (0 .. $#lines) {
        my $line = $lines[$i];
        note('wide', $file, $i + 1, $line) if length $line > $widest_line && !defined $in_raw;
        if (defined $in_raw) {
            next if $line !~ s/^.*?\)\Q$in_raw\E"/""/;
            $in_raw = undef;
        }
        if (!$in_comment) {
            my ($name) = $line =~ $test_case;
            note('name', $file, $i + 1, $name) if $name && (length $name > $longest_name || $name =~ $no_call);
            $line =~ s/R"(\w*-?)\(.*?\)\1"/""/g;
            $line =~ s/'"'|"(?:\\.|[^"\\])*"/""/g if $line !~ /^\s*\/\//;
            $in_raw = $1 if $line =~ s/R"(\w*-?)\(.*/""/;
        }
        my ($said, $last) = ('', 0);
        if ($in_comment) {
            $last = $line =~ s/\*\/.*//;
            $said = $line;
            $in_comment = !$last;
        } elsif ($line =~ /^[^\/]*\/\*\*?(.*)/) {
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
    $group = $file =~ /^(?:src|bench|test|docs\/examples)\// ? 'sources' : 'pages';
    open my $in, '<:encoding(UTF-8)', $file or die "$file: $!\n";
    chomp(my @lines = <$in>);
    $file =~ /\.md$/ ? read_page($file, @lines) : read_source($file, @lines);
}

my $failed = 0;
my %about = (opening => "begin with Who, What, Of, Nor or So it", long => 'have more than %d words',
             wide => "lines are wider than $widest_line columns",
             name => "names of tests do not begin with what is tested, or have more than $longest_name characters");
for my $of (qw(pages sources)) {
    my $all = $sentences{$of} or next;
    printf "%s: %d sentences\n", $of eq 'pages' ? 'pages and public headers' : 'sources', $all;
    for my $kind (qw(opening long wide name)) {
        my ($count, $budget) = ($found{$of}{$kind} // 0, $budget{$of}{$kind});
        my $share = $kind =~ /opening|long/ ? sprintf ' (%.1f %%)', 100 * $count / $all : '';
        printf "  %d%s %s%s\n", $count, $share, $about{$kind} =~ s/%d/$longest_sentence{$of}/r, $list ? '' : "; the budget is $budget";
        $failed = 1 if !$list && $count > $budget;
    }
}
print "language.pl ROOT --list names them; docs/testing.md\n" if $failed;
exit $failed;
