package alerts

import (
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

// reportedBy lists, for each series that a rule subtracts (unless), the alerts that report it. A profile with the rule needs all of them. An empty
// list: there is nothing to report, for the reason given.
var reportedBy = map[string][]string{
	"avax_node_peers_inbound":      {"AvaxNoInboundPeers"},
	"avax:chain_silent":            {"AvaxChainMissing"},
	"avax:chain_lost_seconds":      {"AvaxChainNotBootstrapped"},
	"avax:data_index_lag":          {"AvaxDataServiceStale"},
	"avax:l1_active_ratio":         {"AvaxL1ConnectedWeightLow"},
	"avax:l1_connected_ratio":      {"AvaxL1ConnectedWeightLow"},
	"avax:l1_own_down_ratio":       {"AvaxNodeDown"},
	"avax:l1_reachable_ratio":      {"AvaxL1ConnectedWeightLow", "AvaxNodeDown"},
	"avax:node_down_together":      {"AvaxNodeDown"},
	"avax:node_isolated":           {"AvaxConnectedStakeLow"},
	"avax:node_refuses":            {"AvaxUpstreamForbidden", "AvaxUpstreamRateLimited"},
	"avax:node_silent":             {"AvaxNodeDown"},
	"avax:node_unready":            {"AvaxNodeDown", "AvaxChainNotBootstrapped"},
	"avax:node_balanced":           {"AvaxNodeIdentityChanged"},
	"avax:own_validator_explained": {"AvaxNodeDown", "AvaxConnectedStakeLow"},
	"avax:site_down":               {"AvaxNodeDown"},
	"avax:upstream_refuses":        {"AvaxUpstreamForbidden", "AvaxUpstreamRateLimited"},
	"avax:upstream_unwell": {
		"AvaxDataServiceDown", "AvaxMetricsServiceDown", "AvaxUpstreamForbidden", "AvaxUpstreamRateLimited", "AvaxNodeSlow",
	},
	"avax_chain_fork_detected":        {"AvaxForkDetected"},
	"avax_l1_validator_active":        {"AvaxL1ValidatorInactive"},
	"avax_node_chain_bootstrapped":    {"AvaxChainNotBootstrapped"},
	"avax_node_chain_present":         {"AvaxChainNotBootstrapped"},
	"avax_node_duplicate":             {"AvaxNodeIdentityChanged"},
	"avax_node_connected_stake_ratio": {"AvaxConnectedStakeLow"},
	"avax_node_network_mismatch":      {"AvaxNodeIdentityChanged"},
	"avax_validator_present":          {"AvaxValidatorMissing"},
	"avax_validator_reward_reachable": {"AvaxRewardUnreachable"},

	"ALERTS":                  {}, // the alert itself
	"avax:chain_bootstrapped": {}, // the chain runs
	"avax:chain_bootstrapped_timestamp_seconds":    {}, // AvaxChainNotBootstrapped fires instead
	"avax:chain_head_age_seconds":                  {}, // the node has a new block
	"avax:node_validated_timestamp_seconds":        {}, // the node has an identity that validates
	"avax:own_l1_validator_seen_timestamp_seconds": {}, // the validator has left the set: AvaxValidatorMissing
	"avax:node_address_since_timestamp_seconds":    {}, // the address is the old one
	"avax_chain_height":                            {}, // heights rise
	"avax_node_identity_changes_total":             {}, // the identity has just changed again
	"avax_node_address_info":                       {}, // the address is the old one
	"avax_node_identity_info":                      {}, // the identity is the one that validates
	"avax:downtime_used_ratio":                     {}, // a small value, early in a period
	"avax:exporter_lost":                           {}, // AvaxExporterDown itself
	"avax:exporters":                               {}, // AvaxExporterDown itself
	"avax:l1_view_young":                           {}, // the same alert fires minutes later
	"avax:node_answering":                          {}, // the node answers another replica
	"avax:node_id":                                 {}, // joins
	"avax:node_restarted":                          {}, // the same alerts fire minutes later
	"avax:upstream_observes":                       {}, // observers are not yours
	"avax_exporter_upstream_requests_total":        {}, // the service answers other requests
	"avax_icm_messages":                            {}, // other messages are delivered; the warning stays
	"avax_node_disk_free_ratio":                    {}, // the same alert, by the share and the pace
	"avax_node_health_check_failing":               {}, // a node with partial sync never runs C and X
	"avax_node_up":                                 {}, // counts of nodes
	"avax_node_validating":                         {}, // AvaxHealthCheckFailing pages for validators
	"avax_observer_info":                           {}, // observers are not yours
	"avax_subnet_info":                             {}, // what was, without what is
	"avax_subnet_owner_info":                       {}, // what was, without what is
	"avax_upgrade_timestamp_seconds":               {}, // AvaxUpgradeImminent has the severity info
	"avax_validator_end_timestamp_seconds":         {}, // the period is over, or too short for the threshold
	"avax_validator_start_timestamp_seconds":       {}, // the period is too short for the threshold
}

// TestProfilesReportWhatTheirRulesSubtract follows each alert of a profile to the series that its expression subtracts.
func TestProfilesReportWhatTheirRulesSubtract(t *testing.T) {
	t.Parallel()
	suite := readSuite(t, "rules.yml")
	profiles := map[string]map[string]bool{} // alerts by profile
	for _, r := range suite.rules {
		for _, name := range strings.Fields(r.Annotations["profiles"]) {
			if profiles[name] == nil {
				profiles[name] = map[string]bool{}
			}
			profiles[name][r.Alert] = true
		}
	}
	used := map[string]bool{}
	for _, r := range suite.rules {
		if r.Alert == "" {
			continue
		}
		for name := range suite.subtracted(r) {
			alerts, known := reportedBy[name]
			used[name] = true
			if !known {
				t.Errorf("%s subtracts %s: add it to reportedBy, with the alerts that report it", r.name, name)
			}
			for _, profile := range strings.Fields(r.Annotations["profiles"]) {
				// An operator of the profile delegator has no nodes.
				for _, alert := range alerts {
					if profile != "delegator" && !profiles[profile][alert] {
						t.Errorf("profile %s has %s, which subtracts %s, but not %s", profile, r.name, name, alert)
					}
				}
			}
		}
	}
	for name := range reportedBy {
		if !used[name] {
			t.Errorf("no alert subtracts %s", name)
		}
	}
}

// subtracted returns the names of the series that the expression of the rule, or of a recording rule that it reads, subtracts.
func (s *suite) subtracted(r *rule) map[string]bool {
	found, seen := map[string]bool{}, map[string]bool{}
	var follow func(e parser.Node)
	follow = func(e parser.Node) {
		parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
			switch n := n.(type) {
			case *parser.BinaryExpr:
				if n.Op == parser.LUNLESS {
					parser.Inspect(n.RHS, func(n parser.Node, _ []parser.Node) error {
						if v, ok := n.(*parser.VectorSelector); ok && !strings.HasPrefix(v.Name, threshold) {
							found[v.Name] = true
						}
						return nil
					})
				}
			case *parser.VectorSelector:
				if seen[n.Name] {
					return nil
				}
				seen[n.Name] = true
				for _, other := range s.rules {
					if other.Record == n.Name {
						follow(other.parsed)
					}
				}
			}
			return nil
		})
	}
	follow(r.parsed)
	return found
}
