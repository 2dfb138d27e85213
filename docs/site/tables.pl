# Compares the tables in docs/reference.md with the comments of the public headers, from which they are made.
# usage: perl tables.pl ROOT [--write]      --write makes the tables anew
#
# A table stands below a comment such as <!-- options.hpp: acquire_options -->. "error.hpp: errc 1" has the enumerators from 1 to
# 19, "errc 20" those from 20 on.
use strict;
use warnings;
use utf8;
binmode $_, ':utf8' for *STDOUT, *STDERR;

my ($root, $write) = @ARGV;
my $page = "$root/docs/reference.md";
my $longest = 250;  # characters of a meaning: the first sentences of the comment, if all of it is longer

sub text_of { my ($path) = @_; open(my $f, '<:utf8', $path) or die "$path: $!\n"; local $/; return scalar <$f> }

# The first paragraph of a comment, as Markdown.
sub meaning {
    my ($comment, $most) = @_;
    $comment =~ s{^[ ]*(?:/\*\*|///<?)?[ ]*|[ ]*\*/}{}mg;
    my ($first) = split /\n\s*\n|\n(?=- )/, $comment;
    $first =~ s/\s+/ /g;
    $first =~ s/^ | $//g;
    $first =~ s/\@(?:ref|p) ([\w:]+)( (?=[:;,.)]))?/`$1`/g;
    $first =~ s{\bdocs/([\w/-]+\.md)}{[$1]($1)}g;
    $first =~ s/\|/\\|/g;
    my $text = '';
    for (split /(?<=[.])(?<!\d[.]) (?=[A-Z@`])/, $first) {
        last if $text ne '' and length("$text $_") > $most;
        $text .= ($text eq '' ? '' : ' ') . $_;
    }
    return $text =~ s/:$/./r;
}

# A default value as a reader writes it.
sub shown {
    my ($type, $value) = @_;
    if ($type =~ /milliseconds/ and $value =~ /^\{([\d']+)\}$/) {
        my $ms = $1 =~ s/'//gr;
        return $ms == 0 ? '0' : $ms % 60_000 == 0 ? $ms / 60_000 . ' min' : $ms % 1000 == 0 ? $ms / 1000 . ' s' : "$ms ms";
    }
    return $type =~ /^std::string/ ? 'empty' : $type =~ /^\w+_options$/ ? "those of `$type`" : 'none' if $value eq '{}';
    return 'none' if $value eq ' = nullptr';
    my $plain = $value =~ s/^ = (?:redlock::)?//r;
    return $plain =~ /^[\d.]+$|^(?:true|false)$/ ? $plain : "`$plain`";
}

# Type, name, default and comment of each member of a struct.
sub members {
    my ($header, $struct) = @_;
    my ($body) = text_of("$root/include/redlock/$header") =~ /^struct $struct \{\n(.*?)^\};/ms or die "$header has no struct $struct\n";
    my @found;
    my $comment = '';
    for ($body =~ /^(    \/\*\*.*?\*\/|[^\n]*)$/msg) {
        if (m{^    (?:///|/\*\*)}) { $comment .= "$_\n" }
        elsif (m{^    (\w[\w:<>,() *]*?) ?\b([a-z_]+)( = [^;]+|\{[^;]*\}|);(?:\s*(///<.*))?$}) {
            push @found, [$1, $2, $3, $4 // $comment];
            $comment = '';
        }
        elsif (m{^\s+(///<? .*)} and @found) { $found[-1][3] .= "\n$1" }
        elsif (/\S/) { die "$header: $struct has a line that is no member: $_\n" }
    }
    return @found;
}

sub struct_table {
    my ($header, $struct) = @_;
    my $options = $struct =~ /_options$/;
    my @rows = map {
        my ($type, $name, $default, $comment) = @$_;
        die "$header: $struct\::$name has no comment\n" if $comment eq '';
        "| `$name` | " . ($options ? shown($type, $default) . ' | ' : '') . meaning($comment, $longest) . ' |';
    } members($header, $struct);
    return join("\n", $options ? ("| `$struct` | default | |", '|---|---|---|') : ("| `$struct` | |", '|---|---|'), @rows) . "\n";
}

sub error_table {
    my ($header, $enum, $first) = @_;
    my ($body) = text_of("$root/include/redlock/$header") =~ /^enum class $enum \{\n(.*?)^\};/ms or die "$header has no $enum\n";
    my @rows;
    while ($body =~ m{((?:^    ///[^\n]*\n)+)^    (\w+) = (\d+),}mg) {
        push @rows, "| `$enum\::$2` | " . meaning($1, 1000) . ' |' if ($3 < 20) == ($first < 20);
    }
    return join("\n", '| error | it means, and what to do |', '|---|---|', @rows) . "\n";
}

my $old = text_of($page);
my $count = 0;
my $new = $old =~ s{(<!-- ([\w/]+\.hpp): (\w+)(?: (\d+))? -->\n\n)(?:\|[^\n]*\n)*}{
    ++$count;
    $1 . (defined $4 ? error_table($2, $3, $4) : struct_table($2, $3))}gre;
die "docs/reference.md has no table that is made from a header\n" if !$count;
if ($new eq $old) { print "$count tables are as in the headers\n" }
elsif ($write) {
    open(my $f, '>:utf8', $page) or die "$page: $!\n";
    print $f $new;
    print "$count tables are made\n";
}
else {
    my %there = map { $_ => 1 } split /\n/, $old;
    print "docs/reference.md: the headers say: $_\n" for grep { !$there{$_} } split /\n/, $new;
    my %wanted = map { $_ => 1 } split /\n/, $new;
    print "docs/reference.md: no header says: $_\n" for grep { !$wanted{$_} } split /\n/, $old;
    print "docs/reference.md is not as the headers: perl docs/site/tables.pl . --write\n";
    exit 1;
}
