// A monitoring mixin over the shipped rules and dashboards. A group stays whole, because its alerts read values that it records before.
local groups(text) = std.parseYaml(text).groups;
{
  // companion: also the rules about the node's own metrics, its host and the relayer.
  _config+:: { companion: false },
  prometheusAlerts+:: {
    groups+: groups(importstr 'alerts/rules.yml') +
             (if $._config.companion then groups(importstr 'alerts/companion.yml') else []),
  },
  prometheusRules+:: {},
  grafanaDashboards+:: {
    'avax-chains.json': import 'dashboards/chains.json',
    'avax-delegator.json': import 'dashboards/delegator.json',
    'avax-exporter.json': import 'dashboards/exporter.json',
    'avax-l1.json': import 'dashboards/l1.json',
    'avax-labels.json': import 'dashboards/labels.json',
    'avax-network.json': import 'dashboards/network.json',
    'avax-node.json': import 'dashboards/node.json',
    'avax-overview.json': import 'dashboards/grafana.json',
    'avax-validators.json': import 'dashboards/validators.json',
  },
}
