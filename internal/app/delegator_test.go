package app_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/apptest"
	"github.com/avax-exporter/avax-exporter/internal/testworld/wiretest"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// A delegator without a node sees its delegation and its end with an observer, with the Data service, and with both. Only an observer
// reports the uptime of the validator.
func TestDelegatorNeedsNoNode(t *testing.T) {
	t.Parallel()
	const observer, data = "observer", "Data service"
	for _, with := range []string{observer, data, observer + " and " + data} {
		t.Run(with, func(t *testing.T) {
			apptest.Run(t, func(t *testing.T, w *apptest.World) {
				w.EndDelegations("hotel", time.Now().Add(20*time.Hour))
				w.Env["NODES"], w.Env["CHAINS"] = "", ""
				w.Env["WATCH_DELEGATORS"] = "treasury=P-" + simnet.Delegator
				if strings.Contains(with, data) {
					w.WithData()
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
	testworld.Story(t)
	for _, c := range []struct{ fromService, refused bool }{{false, true}, {false, false}, {true, true}, {true, false}} {
		t.Run(fmt.Sprintf("from the service %v, refused %v", c.fromService, c.refused), func(t *testing.T) {
			t.Parallel()
			apptest.Run(t, func(t *testing.T, w *apptest.World) {
				w.EndDelegations("hotel", time.Now().Add(30*time.Minute))
				if c.refused {
					w.RefuseReward("hotel")
				}
				w.Env["NODES"], w.Env["CHAINS"] = "", ""
				w.Env["WATCH_DELEGATORS"] = "treasury=P-" + simnet.Delegator
				cause := "The last known uptime of the validator was "
				if c.fromService {
					w.WithData()
					cause = "The uptime of the validator is not known."
				} else {
					w.Env["OBSERVERS"], w.Env["VALIDATORS"] = "public=http://observer.sim", w.NodeID("hotel")
				}
				w.Notify(t)
				w.Env["ALERTING_INTERVAL"] = "1m"
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
				if paid := w.Samples(t).Sum("avax_payout_paid_avax"); (paid > 0.4) == c.refused {
					t.Errorf("%+v: paid %v AVAX", c, paid)
				}
			})
		})
	}
}

// delegatorWithData configures a delegator with the Data service and without nodes.
func delegatorWithData(w *apptest.World) {
	w.WithData()
	w.Env["NODES"], w.Env["CHAINS"], w.Env["WATCH_DELEGATORS"] = "", "", "treasury=P-"+simnet.Delegator
}

// A delegation stays while one answer of the Data service in three lacks it.
func TestDelegationStaysIfOneAnswerLacksIt(t *testing.T) {
	t.Parallel()
	apptest.Run(t, func(t *testing.T, w *apptest.World) {
		delegatorWithData(w)
		asked := 0
		network := w.Transport
		w.Transport = wiretest.Between(network, func(c *wiretest.Call) (*http.Response, error) {
			if !strings.HasSuffix(c.URL.Path, ":listPending") {
				return c.Ask()
			}
			if asked++; asked > 3 && asked%3 == 0 {
				return wiretest.Reply(http.StatusOK, `{"pendingRewards":[]}`)
			}
			return c.Ask()
		})
		w.Start(t)
		time.Sleep(10 * time.Minute)
		for range 120 {
			time.Sleep(time.Minute)
			if len(w.Samples(t).Of("avax_delegation_stake_avax")) == 0 {
				t.Fatalf("no delegation after %d requests", asked)
			}
		}
		if asked < 20 {
			t.Errorf("%d requests in two hours", asked)
		}
	})
}

// An address of which the service knows nothing may be wrong: the page and check ask whether it is correct. One with delegations is not in doubt.
func TestAddressOfWhichNothingIsKnownIsSaid(t *testing.T) {
	t.Parallel()
	for _, alone := range []bool{false, true} {
		apptest.Run(t, func(t *testing.T, w *apptest.World) {
			delegatorWithData(w)
			address := "P-" + testworld.Wallet("custom", 77)
			w.Env["WATCH_DELEGATORS"] += ",wrong=" + address
			if alone {
				w.Env["WATCH_DELEGATORS"] = "wrong=" + address
			}
			w.Start(t)
			time.Sleep(10 * time.Minute)
			_, page := w.Get(t, "/")
			checked, err := w.Check(t)
			if err == nil {
				t.Error("check finds nothing wrong")
			}
			for name, text := range map[string]string{"page": page, "check": checked} {
				text = strings.Join(strings.Fields(text), " ")
				if n := strings.Count(strings.ToLower(text), "othing known of "); n != 1 ||
					!strings.Contains(text, "othing known of "+address+" (wrong): is the address correct?") {
					t.Errorf("%s, alone %t: %d such texts: %s", name, alone, n, text)
				}
			}
		})
	}
}

// A currency may be written in capitals. Values are then in this currency.
func TestValuesAreInTheConfiguredCurrency(t *testing.T) {
	testworld.Story(t)
	apptest.Run(t, func(t *testing.T, w *apptest.World) {
		delegatorWithData(w)
		w.Env["CURRENCY"], w.Env["VALIDATORS"], w.Env["COLLECTORS"] = "EUR", w.NodeID("golf"), "rewards"
		w.Start(t)
		time.Sleep(3 * time.Hour)
		values := w.Samples(t).Of("avax_rewards_value")
		if euros := values.Of("avax_rewards_value", `currency="eur"`); len(euros) == 0 || len(euros) != len(values) {
			t.Errorf("%d values in euros: %v", len(euros), values)
		}
	})
}

// alertNames returns the names of the firing alerts.
func alertNames(t *testing.T, w *apptest.World) (names []string) {
	for _, a := range w.Alerts(t) {
		names = append(names, a.Labels["alertname"])
	}
	return names
}

// The end of a delegation is constant. The alert about it continues while the Data service fails, with and without an observer.
func TestDelegationEndIsKnownDuringAnOutage(t *testing.T) {
	testworld.Story(t)
	for _, observed := range []bool{false, true} {
		apptest.Run(t, func(t *testing.T, w *apptest.World) {
			delegatorWithData(w)
			if observed {
				w.Env["OBSERVERS"], w.Env["VALIDATORS"] = "public=http://observer.sim", w.NodeID("golf")
			}
			w.Env["COLLECTORS"] = "delegations,payouts,data_up,validators"
			w.EndDelegations("hotel", time.Now().Add(20*time.Hour))
			w.Notify(t)
			w.Start(t)
			time.Sleep(20 * time.Minute)
			w.DataService().Stop()
			for range 12 {
				time.Sleep(4 * time.Minute)
				if firing := alertNames(t, w); !slices.Contains(firing, "AvaxDelegationEndsSoon") {
					t.Fatalf("observer %t: alerts: %v", observed, firing)
				}
			}
		})
	}
}

// The Data service gets one request for the delegations of all addresses, whatever their number. Without a key, 50 addresses need a small part of the
// budget of a day, and no more than planned.
func TestFiftyDelegatorsNeedNoKey(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	apptest.Run(t, func(t *testing.T, w *apptest.World) {
		delegatorWithData(w)
		var addresses []string
		for n := range 49 {
			addresses = append(addresses, testworld.Wallet("custom", byte(n)))
		}
		w.Env["WATCH_DELEGATORS"] = "P-" + simnet.Delegator + ",P-" + strings.Join(addresses, ",P-")
		w.Env["ALERTING"] = "off"
		w.EndDelegations("hotel", time.Now().Add(10*time.Hour))
		w.RefuseReward("hotel")
		w.Start(t)
		plan, _ := w.Check(t)
		total := regexp.MustCompile(`(?m)^ *total +[0-9]+ per minute +([0-9]+) per day`).FindStringSubmatch(plan)
		if total == nil {
			t.Fatal(plan)
		}
		planned, _ := strconv.Atoi(total[1])
		time.Sleep(24 * time.Hour)
		spent := w.Samples(t)[`avax_exporter_data_spent_units{window="day"}`]
		if spent < 20_000 || int(spent) > planned || planned > 300_000 {
			t.Errorf("spent %v compute units in a day, planned %d", spent, planned)
		}
		t.Logf("planned %d, spent %v", planned, spent)
	})
}
