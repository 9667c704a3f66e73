package app_test

import (
	"encoding/json"
	"fmt"
	"html"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/apptest"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/simnet"
)

var pastRow = regexp.MustCompile(`(?s)<tr[^>]*><th scope="row"><b>(\w+)</b>(.*?)</tr>`)

// pastAlerts returns the rows of the history on /alerts about an alert, as text.
func (w *world) pastAlerts(t *testing.T, name string) (rows []string) {
	t.Helper()
	return w.pastRows(t, "/alerts", name)
}

// pastRows returns the rows of the history on a page about an alert, as text.
func (w *world) pastRows(t *testing.T, path, name string) (rows []string) {
	t.Helper()
	_, history, _ := strings.Cut(w.page(t, "history", path).text, `id="history"`)
	history, _, _ = strings.Cut(history, "</table>")
	for _, m := range pastRow.FindAllStringSubmatch(history, -1) {
		if m[1] == name {
			text := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(strings.ReplaceAll(m[2], "</td>", " | "), "")
			rows = append(rows, html.UnescapeString(text))
		}
	}
	return rows
}

// An outage has one begin and one length: on the page, in each notification and in the history. The exporter restarts meanwhile.
func TestOutageHasOneBeginAndOneLength(t *testing.T) {
	testworld.Story(t)
	const long, probe = 8*time.Minute + 9*time.Second, 45 * time.Second // a probe, a scrape and an evaluation
	views := func(a *apptest.World) { a.Env["COLLECTORS"] += ",validator_views" }
	inWorld(t, incident{quick: true, nodes: []string{"alpha", "bravo", "charlie", "foxtrot"}, change: views}, func(t *testing.T, w *world) {
		began := time.Now()
		time.Sleep(10*time.Minute + 40*time.Second)
		stopped := time.Now()
		w.Node("bravo").Stop()
		time.Sleep(5*time.Minute + 30*time.Second)
		restart(w, nil)
		time.Sleep(75 * time.Second)
		now := w.page(t, "down", "/")
		now.has("since " + stopped.UTC().Format("15:04") + " UTC")
		if _, title, _ := now.headline(); strings.Contains(title, "since the exporter started") {
			t.Errorf("headline %s", title)
		}
		time.Sleep(long - time.Since(stopped))
		w.Node("bravo").Start()
		time.Sleep(4 * time.Minute)

		ended := 0
		for _, a := range w.Receiver.Alerts() {
			if a.Labels["alertname"] != "AvaxNodeDown" {
				continue
			}
			began := alerts.SinceOf(a.Annotations[alerts.Since], a.StartsAt)
			if off := began.Sub(stopped).Abs(); off > probe/2 {
				t.Errorf("%s: since %v, %v beside the stop", a.Status, began, off)
			}
			if a.Status == "resolved" {
				ended++
				if off := (a.EndsAt.Sub(began) - long).Abs(); off > 2*probe {
					t.Errorf("lasted %v, want %v", a.EndsAt.Sub(began), long)
				}
			}
		}
		if ended == 0 {
			t.Error("no resolved notification")
		}
		if rows := w.pastAlerts(t, "AvaxNodeDown"); len(rows) != 1 || !strings.Contains(rows[0], "after 8 min") && !strings.Contains(rows[0], "after 9 min") {
			t.Errorf("history %q", rows)
		}
		const unwatched = 2 * time.Minute // until the views of validators are there again
		w.hasAvailability(t, began, long, unwatched)
		w.Stop()
		time.Sleep(48 * time.Hour) // then only the long history has it
		w.StartNow(t)
		time.Sleep(time.Minute)
		if rows := w.pastAlerts(t, "AvaxNodeDown"); len(rows) != 1 || !strings.Contains(rows[0], "after 8 min") && !strings.Contains(rows[0], "after 9 min") {
			t.Errorf("history of the day before %q", rows)
		}
	})
}

// hasAvailability checks the availability of bravo, which was down once, of its validator, and of others, as the digest and the pages read it. Of the time
// down, up to unwatched does not count.
func (w *world) hasAvailability(t *testing.T, began time.Time, down, unwatched time.Duration) {
	t.Helper()
	const watched, probes = 65 * time.Minute, 100 * time.Second // a probe of the node, or of the peers, at the begin and at the end
	time.Sleep(time.Until(began.Add(watched)))
	for of, want := range map[string]float64{
		`node="bravo"`: 1 - down.Hours()/watched.Hours(), `node="alpha"`: 1, `chain="examplel1"`: 1,
		`node_id="` + w.NodeID("bravo") + `"`: 1 - down.Hours()/watched.Hours(), `node_id="` + w.NodeID("alpha") + `"`: 1,
	} {
		query := url.Values{"query": {`avax_availability_ratio{window="24h",` + of + "}"}}.Encode()
		_, body := w.Get(t, "/api/v1/query?"+query)
		var answer struct {
			Data struct {
				Result model.Vector
			}
		}
		must.Do(t, json.Unmarshal([]byte(body), &answer))
		if all := answer.Data.Result; len(all) != 1 || math.Abs(float64(all[0].Value)-want) > (probes+unwatched).Hours()/watched.Hours() || strings.Contains(all[0].Metric.String(), `=""`) {
			t.Errorf("availability of %s: %v, want %.4f", of, all, want)
		}
	}
}

// A node that answers for half a minute and is silent again has one outage: one page with its begin, one message at its end, and one row of the history.
func TestShortAnswerDoesNotEndAnOutage(t *testing.T) {
	testworld.Story(t)
	inWorld(t, incident{quick: true}, func(t *testing.T, w *world) {
		time.Sleep(10 * time.Minute)
		stopped := time.Now()
		w.Node("bravo").Stop()
		time.Sleep(6 * time.Minute)
		w.Node("bravo").Start()
		time.Sleep(30 * time.Second)
		w.Node("bravo").Stop()
		for again := time.Now(); time.Since(again) < 6*time.Minute; time.Sleep(5 * time.Second) {
			now := w.page(t, fmt.Sprintf("%v after it stopped again", time.Since(again)), "/")
			level, title, _ := now.headline()
			if level == "well" || time.Since(again) > 40*time.Second && !strings.Contains(title, "; pages since "+stopped.Add(4*time.Minute+30*time.Second).UTC().Format("15:04")) {
				t.Errorf("%s: %s: %s", now.what, level, title)
			}
		}
		w.Node("bravo").Start()
		time.Sleep(20 * time.Minute)
		var told []string
		for _, a := range w.Receiver.Alerts() {
			if a.Labels["severity"] != "page" && a.Labels["severity"] != "warn" {
				continue
			}
			told = append(told, a.Status+" "+a.Annotations["summary"])
			if began := alerts.SinceOf(a.Annotations[alerts.Since], a.StartsAt); began.Sub(stopped).Abs() > 30*time.Second {
				t.Errorf("%s: since %v, want %v", a.Status, began, stopped)
			}
		}
		if len(told) != 2 {
			t.Errorf("messages: %q", told)
		}
		if rows := w.pastAlerts(t, "AvaxNodeDown"); len(rows) != 1 {
			t.Errorf("history %q", rows)
		}
	})
}

// An alert that does not fire yet says when it pages. Afterwards, the answer for a time in the past is that of this time.
func TestExplainSaysWhatIsOnItsWayAndWhatWas(t *testing.T) {
	testworld.Story(t)
	inWorld(t, incident{quick: true, nodes: []string{"alpha", "bravo", "charlie", "foxtrot"}}, func(t *testing.T, w *world) {
		time.Sleep(10 * time.Minute)
		w.Node("charlie").SetChain("C", simnet.Bootstrapping)
		w.Node("bravo").Stop()
		time.Sleep(3 * time.Minute)
		asked := time.Now().UTC()
		demand := func(query, want string) {
			t.Helper()
			if status, text := w.Get(t, "/explain?"+query); status != 200 || !regexp.MustCompile(want).MatchString(text) {
				t.Errorf("%s: %d %s, want %s", query, status, text, want)
			}
		}
		demand("name=AvaxChainNotBootstrapped&target=charlie&why=0", "does not fire yet: the fault lasts for .*, and it pages in [67] min")
		demand("name=AvaxHeadStale&target=bravo&why=0", `Others are active about bravo: AvaxNodeDown \(warn, firing\)`)
		time.Sleep(4 * time.Minute)
		demand("name=AvaxNodeDown&target=bravo&why=0", `^AvaxNodeDown \(page\) is firing`)
		w.Node("bravo").Start()
		time.Sleep(10 * time.Minute)
		demand("name=AvaxNodeDown&target=bravo&why=0", `^AvaxNodeDown for bravo does not fire`)
		then := asked.Add(3 * time.Minute).Format("15:04")
		demand("name=AvaxNodeDown&target=bravo&at="+then, `^At 2000-01-01 `+then+` UTC: AvaxNodeDown \(page\) is firing(?s:.*)value \d+`)
		if status, text := w.Get(t, "/explain?name=AvaxNodeDown&target=bravo&at=yesterday"); status != 400 || !strings.Contains(text, "such as 03:12") {
			t.Errorf("%d %s", status, text)
		}
	})
}

// What decided an outage when it warned, paged and ended is kept longer than the samples, also over a restart.
func TestWhatDecidedAnOutageIsKept(t *testing.T) {
	testworld.Story(t)
	inWorld(t, incident{quick: true, nodes: []string{"alpha", "bravo", "charlie", "foxtrot"}}, func(t *testing.T, w *world) {
		time.Sleep(10 * time.Minute)
		w.Node("bravo").Stop()
		time.Sleep(9 * time.Minute)
		asked := time.Now().UTC()
		w.Node("bravo").Start()
		time.Sleep(30 * time.Minute)
		w.Stop()
		must.Do(t, os.RemoveAll(filepath.Join(w.Env["STATE_DIR"], "history"))) // the samples are kept for hours
		time.Sleep(time.Minute)
		w.StartNow(t)
		time.Sleep(5 * time.Minute)
		at := "&at=" + url.QueryEscape(asked.Format("2006-01-02 15:04"))
		for query, want := range map[string][]string{
			"name=AvaxNodeDown&target=bravo&why=0": {
				`(?m)^2000-01-01 00:1\d:\d\d UTC, fires \(warn\): AvaxNodeDown \(\w+\) is .*bravo`, `(?m)^2000-01-01 00:1\d:\d\d UTC, fires \(page\): AvaxNodeDown \(page\) is firing`,
				`(?m)^2000-01-01 00:(19|20):\d\d UTC, ends \(page\): AvaxNodeDown for bravo does not fire`,
			},
			"name=AvaxNodeDown&target=bravo": {`(?m)^ +true +.*avax`, `avax_node_up\{node="bravo"\} 0`, `avax_node_up\{node="bravo"\} 1`},
		} {
			status, text := w.Get(t, "/explain?"+query+at)
			for _, one := range want {
				if status != 200 || !regexp.MustCompile(one).MatchString(text) {
					t.Errorf("%s: %d, want %s in\n%s", query, status, one, text)
				}
			}
		}

		for _, query := range []string{"name=AvaxNodeDown&target=alpha", "name=AvaxHeadStale&target=bravo"} {
			if status, text := w.Get(t, "/explain?"+query+at); status != 404 || !strings.HasPrefix(text, "no samples of 2000-01-01 ") {
				t.Errorf("%s: %d %s", query, status, text)
			}
		}
	})
}

// A node that starts with another staking key is red until its key is back, never green in between, and pages once, within 3 min 30 s.
// The page and the message have both IDs. That is so for a validator of the primary network and for one of an L1 only.
func TestWrongKeyIsOneFault(t *testing.T) {
	testworld.Story(t)
	for _, node := range []string{"alpha", "foxtrot"} {
		t.Run(node, func(t *testing.T) { wrongKeyIsOneFault(t, node) })
	}
}

func wrongKeyIsOneFault(t *testing.T, node string) {
	views := func(a *apptest.World) { a.Env["COLLECTORS"] += ",validator_views" }
	inWorld(t, incident{quick: true, change: views}, func(t *testing.T, w *world) {
		time.Sleep(10 * time.Minute)
		before := w.NodeID(node)
		w.setID(node, before, otherID)
		began, red := time.Now(), time.Duration(0)
		for time.Since(began) < 8*time.Minute {
			time.Sleep(5 * time.Second)
			_, page := w.Get(t, "/")
			switch level := headline.FindStringSubmatch(page); {
			case level[1] != "well" && strings.Contains(level[2], node) && red == 0:
				if red = time.Since(began); !strings.HasPrefix(level[2], node+": node ID changed; pages within ") {
					t.Errorf("%v: %s", red, level[2])
				}
			case level[1] == "well" && red > 0:
				t.Fatalf("red after %v, green after %v: %s", red, time.Since(began), level[2])
			}
			_, problems, _ := strings.Cut(page, `<ul class="problems">`)
			if problems, _, _ = strings.Cut(problems, "</ul>"); red > 0 && (!strings.Contains(problems, before) || !strings.Contains(problems, otherID)) {
				t.Fatalf("%v: the page lacks an ID: %s", time.Since(began), problems)
			}
			w.pageIsHonest(t)
		}
		var told []string
		for _, a := range w.Receiver.Alerts() {
			if a.Labels["alertname"] == "AvaxNodeIdentityChanged" && a.Labels["severity"] == "page" {
				for _, id := range []string{before, otherID} {
					if !strings.Contains(a.Annotations["description"], id) {
						t.Errorf("%s is not in %q", id, a.Annotations["description"])
					}
				}
				if paged := a.At.Sub(began); paged > 3*time.Minute+30*time.Second {
					t.Errorf("page after %v", paged)
				}
			}
			if a.Labels["severity"] != "none" {
				told = append(told, a.Annotations["summary"])
			}
		}
		if len(told) != 1 {
			t.Errorf("messages: %q", told)
		}

		// Once the newest sample has the right ID, which is soon, also if nobody saw a restart, the page is not red.
		asked := 0
		for _, c := range w.Calls() {
			if c.Upstream == node && c.Method == "info.getNodeID" && time.Since(c.At) < time.Minute {
				asked++
			}
		}
		if asked < 5 {
			t.Errorf("asked %d times in the last minute who it is", asked)
		}
		w.setID(node, "", "")
		for back := time.Now(); time.Since(back) < 3*time.Minute; time.Sleep(time.Second) {
			_, samples := w.Get(t, "/metrics")
			level, title, action := w.page(t, fmt.Sprintf("%v after the key is back", time.Since(back)), "/").headline()
			if right := !strings.Contains(samples, `avax_node_info{node="`+node+`",node_id="`+otherID); (right || time.Since(back) > 15*time.Second) && level == "bad" {
				t.Fatalf("%v after the key is back: %s: %s", time.Since(back), title, action)
			}
		}
		if level, title, _ := w.page(t, "3 min after the key is back", "/").headline(); level != "well" {
			t.Errorf("3 min after the key is back: %s", title)
		}
	})
}

// When all chains halt together, this is one fault since the last block: one problem on the page, and one message.
func TestHaltOfAllChainsIsOneFault(t *testing.T) {
	testworld.Full(t) // it plays hours
	t.Parallel()
	inWorld(t, incident{quick: true, fuji: true}, func(t *testing.T, w *world) {
		for _, chain := range []string{"X", "examplel1", "examplepoa"} {
			w.SetBlockPeriod(chain, 10*time.Second)
		}
		time.Sleep(130 * time.Minute)
		halt, before := time.Now(), len(w.Receiver.Alerts())
		each(configured, func(n string) { each([]string{"P", "C", "X", "examplel1", "examplepoa"}, w.Node(n).FallBehind) })
		const title = "No chain of the network has a new block"
		for time.Since(halt) < 15*time.Minute {
			time.Sleep(20 * time.Second)
			now := w.page(t, fmt.Sprintf("%v after the halt", time.Since(halt)), "/")
			all := now.titles()
			if len(all) > 1 || len(all) == 1 && !strings.HasPrefix(all[0], title) || len(all) == 0 && time.Since(halt) > 4*time.Minute {
				t.Errorf("%s: %q", now.what, all)
			}
			if len(all) == 1 {
				now.has("since " + halt.UTC().Format("15:04") + " UTC")
				for at, color := range now.chips() {
					if !strings.HasPrefix(color, "bad") {
						t.Errorf("%s: chain %s of %s is %s", now.what, at[1], at[0], color)
					}
				}
			}
		}
		var told []string
		for _, a := range w.Receiver.Alerts()[before:] {
			if a.Labels["severity"] != "page" && a.Labels["severity"] != "warn" {
				continue
			}
			told = append(told, a.Annotations["summary"])
			if do := a.Annotations["action"]; !strings.Contains(do, "your nodes are connected to the others: the chain has halted") {
				t.Errorf("action %q", do)
			}
			if off := alerts.SinceOf(a.Annotations[alerts.Since], a.StartsAt).Sub(halt).Abs(); off > 10*time.Second {
				t.Errorf("%s: since %s, %v beside the halt", a.Annotations["summary"], a.Annotations[alerts.Since], off)
			}
		}
		if len(told) != 1 {
			t.Errorf("messages %q", told)
		}

		// An L1 that halted with the others has its own history.
		each(configured, func(n string) { each([]string{"P", "C", "X", "examplel1", "examplepoa"}, w.Node(n).CatchUp) })
		long := time.Since(halt)
		time.Sleep(15 * time.Minute)
		rows := w.pastRows(t, "/l1/examplel1", "AvaxHeadStale")
		if len(rows) != 1 || !strings.Contains(rows[0], halt.UTC().Format("| 15:04 UTC |")) || !strings.Contains(rows[0], "after 15 min") && !strings.Contains(rows[0], "after 16 min") {
			t.Errorf("history of the L1 %q, want %v", rows, long)
		}
		const of, exact = `{window="24h",chain="examplel1"}`, 2 * time.Minute // until all are stale, and a step of the availability
		lost := (1 - w.sample(t, "avax_availability_ratio"+of)) * w.sample(t, "avax_availability_watched_ratio"+of) * float64(24*time.Hour)
		if off := (time.Duration(lost) - long).Abs(); off > exact {
			t.Errorf("the L1 was not available for %v, want %v", time.Duration(lost), long)
		}
	})
}

// Once nodes are back after a long outage, nothing counts as missing that could not be asked meanwhile, or that is asked rarely.
func TestNothingIsMissingAfterALongOutage(t *testing.T) {
	testworld.Story(t)
	for name, away := range map[string][]string{"one node": {"bravo"}, "all nodes": {"alpha", "bravo", "charlie", "foxtrot"}} {
		t.Run(name, func(t *testing.T) {
			long := 35 * time.Minute
			if len(away) > 1 {
				testworld.Full(t)
				long = 75 * time.Minute // so that what is asked every hour has failed
			}
			slow := func(a *apptest.World) { a.Env["COLLECTORS"] += ",payouts"; a.Env["DATA_URL"] = "http://data.sim" }
			inWorld(t, incident{quick: true, nodes: []string{"alpha", "bravo", "charlie", "foxtrot"}, change: slow}, func(t *testing.T, w *world) {
				time.Sleep(10 * time.Minute)
				each(away, func(n string) { w.Node(n).Stop() })
				time.Sleep(long)
				each(away, func(n string) { w.Node(n).Start() })
				for back := time.Now(); time.Since(back) < 9*time.Minute; time.Sleep(10 * time.Second) {
					w.page(t, fmt.Sprintf("%v after they are back", time.Since(back)), "/").has("!Monitoring gap")
				}
			})
		})
	}
}
