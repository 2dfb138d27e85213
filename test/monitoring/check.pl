# Whether docs/monitoring fits docs/metrics.md: each metric that it names is one that there is, each expression one that Prometheus
# takes, and the alerts fire when their tests say. What needs promtool is left out where there is none, and that is said.
use strict;
use warnings;
use File::Temp qw(tempfile);
use JSON::PP;

chdir shift or die "usage: check.pl ROOT\n";
my $wrong = 0;
sub complain { print "@_\n"; ++$wrong }
sub text_of { my ($name) = @_; open my $in, '<', $name or die "$name: $!\n"; local $/; return scalar <$in> }

my %is_metric;
for (text_of('docs/metrics.md') =~ /^(\| `redlock_.*)$/mg) {
    my ($name, $type) = /`(redlock_[a-z_]+).*?` \| (\w+) \|/ or next;
    $is_metric{$_} = 1 for $type eq 'histogram' ? map { "$name$_" } qw(_bucket _sum _count) : $name;
}
complain 'docs/metrics.md: no metrics' unless %is_metric;
for my $file (glob 'docs/monitoring/*') {
    my %seen = map { $_ => 1 } text_of($file) =~ /\b(redlock_[a-z_]+)\b/g;
    for (sort keys %seen) { complain "$file: there is no $_" unless $is_metric{$_} || $is_metric{"${_}_bucket"} }
}

my $dashboard = decode_json(text_of('docs/monitoring/dashboard.json'));
my (%id, %place, @expressions);
for my $p (@{$dashboard->{panels}}) {
    complain "dashboard.json: two panels $p->{id}" if $id{$p->{id}}++;
    my $g = $p->{gridPos};
    for my $x ($g->{x} .. $g->{x} + $g->{w} - 1) {
        for my $y ($g->{y} .. $g->{y} + $g->{h} - 1) { complain "dashboard.json: $p->{title} lies on another" if $place{"$x $y"}++ }
    }
    push @expressions, map { $_->{expr} } @{$p->{targets} // []};
}
complain 'dashboard.json: no expressions' unless @expressions;

if (system('promtool --version >/dev/null 2>&1') != 0) {
    print "skipped: there is no promtool here (Debian's package prometheus)\n";
} else {
    my ($rules, $name) = tempfile(SUFFIX => '.yml', UNLINK => 1);
    print $rules "groups:\n  - name: dashboard\n    rules:\n";
    my $n = 0;
    for (@expressions) {
        s/\$__rate_interval/5m/g;
        print $rules '      - ', encode_json({record => 'panel:' . ++$n, expr => $_}), "\n";
    }
    close $rules;
    for my $check ("check rules $name", 'check rules docs/monitoring/alerts.yml', 'test rules docs/monitoring/alerts_test.yml') {
        my $said = `promtool $check 2>&1`;
        complain "promtool $check:\n$said" if $?;
    }
}
print scalar(keys %is_metric), ' metrics, ', scalar(@expressions), " expressions\n" unless $wrong;
exit($wrong ? 1 : 0);
