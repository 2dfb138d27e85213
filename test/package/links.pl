#!/usr/bin/env perl
# Checks that each link of Markdown pages leads to an existing file, and to an existing heading in it.
# usage: links.pl PAGE_OR_FOLDER…
use strict;
use warnings;
use File::Basename qw(dirname);

sub text_of {  # returns the text without any code, and the text without code blocks only
    my ($file) = @_;
    open my $in, '<', $file or die "$file: $!\n";
    local $/;
    my $text = <$in>;
    $text =~ s/^```.*?^```//gms;
    return $text =~ s/`[^`\n]*`//gr, $text;
}

sub anchors_of {
    my ($file) = @_;
    my (undef, $text) = text_of($file);
    my %known;
    while ($text =~ /^#+ +(.*?) *$/gm) {
        my $name = lc $1;
        $name =~ s/[^\w\- ]//g;
        $name =~ s/ /-/g;
        $known{$name} = 1;
    }
    return \%known;
}

my @pages;
open(my $found, '-|', 'find', @ARGV, qw(-name *.md -type f)) or die "find: $!\n";  # a minimal system has no File::Find
chomp(@pages = <$found>);
close $found or die "find has failed\n";
my ($links, $dead) = (0, 0);
for my $page (sort @pages) {
    my ($text) = text_of($page);
    while ($text =~ /\]\(([^)\s]+)\)/g) {
        my $link = $1;
        next if $link =~ m{^[a-z]+:};
        ++$links;
        my ($path, $anchor) = split /#/, $link, 2;
        my $file = $path eq '' ? $page : dirname($page) . "/$path";
        if (!-e $file) { print "$page: $link is not there\n"; ++$dead; }
        elsif (defined $anchor && !anchors_of($file)->{$anchor}) { print "$page: $link: there is no such heading\n"; ++$dead; }
    }
}
die "no links were found\n" unless $links;
print "$links links in " . @pages . " pages\n";
exit($dead ? 1 : 0);
