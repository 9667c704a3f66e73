package app_test

import (
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/simnet"
	"github.com/avax-exporter/avax-exporter/internal/testworld/apptest"
)

// A delegator without a node sees its delegation and its end with an observer, with the Data service, and with both. Only an observer
// reports the uptime of the validator.
func TestDelegatorNeedsNoNode(t *testing.T) {
	const observer, data = "observer", "Data service"
	for _, with := range []string{observer, data, observer + " and " + data} {
		t.Run(with, func(t *testing.T) {
			apptest.Run(t, func(t *testing.T, w *apptest.World) {
				w.EndDelegations("hotel", time.Now().Add(20*time.Hour))
				w.Env["NODES"], w.Env["CHAINS"] = "", ""
				w.Env["WATCH_DELEGATORS"] = "treasury=P-" + simnet.Delegator
				if strings.Contains(with, data) {
					w.Env["DATA_URL"], w.Env["NETWORK"] = "http://data.sim", "mainnet"
					w.SetNetworkID(1)
				}
				if strings.Contains(with, observer) {
					w.Env["OBSERVERS"], w.Env["VALIDATORS"] = "public=http://observer.sim", w.NodeID("hotel")
				}
				w.Notify(t)
				w.Start(t)
				time.Sleep(10 * time.Minute)
				labels := `{address="P-` + simnet.Delegator + `",name="treasury",node_id="` + w.NodeID("hotel") + `"`
				samples := w.Samples(t)
				values := map[string]float64{}
				for series, v := range samples {
					if family, rest, _ := strings.Cut(series, "{"); strings.HasPrefix("{"+rest, labels) {
						values[family] = v
					}
				}
				if values["avax_delegation_stake_avax"] != 100 || values["avax_delegation_expected_reward_avax"] < 0.4 {
					t.Errorf("delegation: %v", values)
				}
				if _, known := values["avax_delegation_reward_reachable"]; known != strings.Contains(with, observer) {
					t.Errorf("reward: %v", values)
				}
				firing := map[string]bool{}
				for _, a := range w.Alerts(t) {
					firing[a.Labels["alertname"]+" "+a.Labels["within"]] = true
				}
				if !firing["AvaxDelegationEndsSoon 7d"] || !firing["AvaxDelegationEndsSoon 24h"] {
					t.Errorf("alerts: %v", firing)
				}
				if _, page := w.Get(t, "/"); !strings.Contains(page, "Delegations, worst first") {
					t.Error("no delegations on the status page")
				}
			})
		})
	}
}

// Two hours after a delegation ended, an alert says whether its reward was paid. It needs an observer, which also knows the uptime, or the
// Data service.
func TestUnpaidRewardAlerts(t *testing.T) {
	for _, c := range []struct{ fromService, refused bool }{{false, true}, {false, false}, {true, true}, {true, false}} {
		apptest.Run(t, func(t *testing.T, w *apptest.World) {
			w.EndDelegations("hotel", time.Now().Add(30*time.Minute))
			if c.refused {
				w.RefuseReward("hotel")
			}
			w.Env["NODES"], w.Env["CHAINS"] = "", ""
			w.Env["WATCH_DELEGATORS"] = "treasury=P-" + simnet.Delegator
			cause := "The last known uptime of the validator was "
			if c.fromService {
				w.Env["DATA_URL"], w.Env["NETWORK"] = "http://data.sim", "mainnet"
				w.SetNetworkID(1)
				cause = "The uptime of the validator is not known."
			} else {
				w.Env["OBSERVERS"], w.Env["VALIDATORS"] = "public=http://observer.sim", w.NodeID("hotel")
			}
			w.Notify(t)
			w.Start(t)
			time.Sleep(185 * time.Minute) // two hours, and 25 minutes until two readings agree
			var texts []string
			for _, a := range w.Alerts(t) {
				if a.Labels["alertname"] == "AvaxRewardNotPaid" {
					texts = append(texts, a.Annotations["action"])
				}
			}
			if c.refused != (len(texts) == 1 && strings.Contains(texts[0], cause)) {
				t.Errorf("%+v: %v", c, texts)
			}
			paid := 0.0
			for series, v := range w.Samples(t) {
				if strings.HasPrefix(series, "avax_payout_paid_avax{") {
					paid += v
				}
			}
			if (paid > 0.4) == c.refused {
				t.Errorf("%+v: paid %v AVAX", c, paid)
			}
		})
	}
}
