package app_test

import (
	"errors"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/apptest"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// page is a page of the exporter at one moment.
type page struct {
	t    *testing.T
	what string
	text string
}

func (w *world) page(t *testing.T, what, path string) page {
	t.Helper()
	time.Sleep(2 * time.Second) // a page is shared for one second
	_, body := w.Get(t, path)
	file := strings.Trim(strings.ReplaceAll(what+" "+path, "/", "_"), " _") + ".html"
	must.Do(t, os.WriteFile(filepath.Join(t.ArtifactDir(), strings.ReplaceAll(file, " ", "-")), []byte(body), 0o600))
	return page{t, what, html.UnescapeString(body)}
}

var headline = regexp.MustCompile(`(?s)<h1 class="(\w+)">(.*?)</h1>(?:<p class="action">(.*?)</p>)?`)

// headline returns the level, the title and the action at the top of the page.
func (p page) headline() (level, title, action string) {
	found := headline.FindStringSubmatch(p.text)
	if found == nil {
		p.t.Fatalf("%s: no headline in\n%s", p.what, p.text)
	}
	return found[1], found[2], found[3]
}

// has demands that the page contains texts; a text that begins with ! must be absent.
func (p page) has(texts ...string) {
	p.t.Helper()
	for _, text := range texts {
		if want, absent := strings.CutPrefix(text, "!"); strings.Contains(p.text, want) == absent {
			_, title, action := p.headline()
			p.t.Errorf("%s: page contains %q: %v; headline: %s. %s", p.what, want, absent, title, action)
		}
	}
}

// noneBehind demands that no height is compared with a later one.
func (p page) noneBehind() {
	p.t.Helper()
	if found := regexp.MustCompile(`<b>\w+</b>[^<]* behind`).FindString(p.text); found != "" {
		p.t.Errorf("%s: %s", p.what, found)
	}
}

var listed = regexp.MustCompile(`(?:<li class="[a-z ]+"|<article class="card [a-z ]+") id="(Avax\w+)"`)

// problems returns the names of the alerts on the page, in their order.
func (p page) problems() string {
	var names []string
	for _, m := range listed.FindAllStringSubmatch(p.text, -1) {
		names = append(names, m[1])
	}
	return strings.Join(names, " ")
}

// The page leads to the node that does not answer, from the first probe to the end of the last alert.
func TestPageLeadsToTheSilentNode(t *testing.T) {
	testworld.Story(t)
	inWorld(t, incident{quick: true, nodes: []string{"alpha", "bravo", "charlie", "foxtrot"}}, func(t *testing.T, w *world) {
		each(members[:9], func(m string) { w.RemoveValidator("examplepoa", m) }) // so that bravo's weight matters
		time.Sleep(10 * time.Minute)
		healthy := w.page(t, "healthy", "/")
		healthy.has("4 of 4 nodes up", `class="card well" id="node-alpha"`)

		healthy.noneBehind()

		w.Node("bravo").Stop()
		died := time.Now()
		time.Sleep(18 * time.Second)
		early := w.page(t, "20 s after bravo died", "/")
		early.has("<title>bravo: no answer for ", "3 of 4 nodes up", "fill='%23d1242f'", `class="card bad" id="node-bravo"`, "!No active alerts")
		if first := strings.Index(early.text, `id="node-bravo"`); first > strings.Index(early.text, `id="node-alpha"`) {
			t.Error("20 s after bravo died: its card is not the first")
		}
		for time.Since(died) < 9*time.Minute {
			what := fmt.Sprintf("%s after bravo died", time.Since(died))
			now := w.page(t, what, "/")
			if level, title, action := now.headline(); level != "bad" || !strings.HasPrefix(title, "bravo: no answer for ") || strings.Contains(action, "Then restart") {
				t.Errorf("%s: %s: %s. %s", what, level, title, action)
			}
			for _, action := range regexp.MustCompile(`<p class="action">(.*?)</p>`).FindAllStringSubmatch(now.text, -1) {
				if strings.Contains(action[1], "Then restart") {
					t.Errorf("%s: action %s", what, action[1])
				}
			}
			if all := w.page(t, what, "/alerts"); all.problems() != now.problems() || !strings.Contains(all.text, "bravo: no answer for ") {
				t.Errorf("%s: alerts in the order %s, on the status page %s", what, all.problems(), now.problems())
			}
			switch since := time.Since(died); {
			case since > 40*time.Second && since < 75*time.Second:
				now.has("; pages in ")
			case since > 4*time.Minute+30*time.Second && since < 4*time.Minute+44*time.Second:
				now.has("; pages ")
			}
			time.Sleep(10 * time.Second)
		}

		w.Node("bravo").Start()
		time.Sleep(100 * time.Second)
		over := w.page(t, "100 s after bravo is back", "/")
		over.has("4 of 4 nodes up", "!Log in to bravo", "!AvaxNodeDown", `!class="card bad" id="node-bravo"`)
	})
}

// A chain that bootstraps is a state of the node, not a gap in the monitoring.
func TestPageShowsABootstrappingChain(t *testing.T) {
	testworld.Story(t)
	inWorld(t, incident{quick: true, nodes: []string{"alpha", "bravo", "charlie", "foxtrot"}}, func(t *testing.T, w *world) {
		time.Sleep(10 * time.Minute)
		w.Node("charlie").SetChain("C", simnet.Bootstrapping)
		began := time.Now()
		for time.Since(began) < 10*time.Minute { // until it pages
			now := w.page(t, fmt.Sprintf("%v after the chain began to bootstrap", time.Since(began)), "/")
			for _, i := range now.items() {
				since := sinceOf.FindStringSubmatch(i.states[0])
				if since == nil || since[1] != began.UTC().Format("15:04") && since[1] != began.Add(30*time.Second).UTC().Format("15:04") {
					t.Errorf("%s: %q: %q", now.what, i.titles, i.states)
				}
			}
			if _, title, _ := now.headline(); strings.HasPrefix(title, "charlie: ") && time.Since(began) > 80*time.Second && !strings.Contains(title, "; pages ") {
				t.Errorf("%s: %s", now.what, title)
			}
			time.Sleep(5 * time.Second)
		}
		for _, after := range []time.Duration{time.Second, 5 * time.Minute} {
			time.Sleep(after)
			now := w.page(t, after.String()+" after the chain began to bootstrap", "/")
			now.has("bootstrapping C", "!Monitoring gap", "!search the log")
			now.noneBehind()
			if _, title, _ := now.headline(); !strings.HasPrefix(title, "charlie: bootstrapping C") {
				t.Errorf("headline %s", title)
			}
		}
	})
}

// From the first sample of a fault on, each page and each answer about a node says when the fault pages. This time does not get later, and is true.
func TestPageSaysWhenItPagesFromTheFirstSample(t *testing.T) {
	testworld.Story(t)
	const evaluation = 30 * time.Second
	for name, story := range map[string]struct {
		alert, severity string
		begin           func(w *world)
	}{
		"a chain bootstraps":     {"AvaxChainNotBootstrapped", "warn", func(w *world) { w.Node("bravo").SetChain("C", simnet.Bootstrapping) }},
		"a node does not answer": {"AvaxNodeDown", "bad", func(w *world) { w.Node("bravo").Stop() }},
		"a disk is full":         {"AvaxNodeDiskLow", "bad", func(w *world) { w.Node("bravo").FillDisk(0, 0) }},
		"a node has another key": {"AvaxNodeIdentityChanged", "bad", func(w *world) { w.setID("bravo", w.NodeID("bravo"), otherID) }},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, incident{quick: true, nodes: []string{"alpha", "bravo", "charlie", "foxtrot"}}, func(t *testing.T, w *world) {
				time.Sleep(10 * time.Minute)
				began := time.Now()
				story.begin(w)
				var latest time.Time
				for time.Since(began) < 100*time.Second {
					time.Sleep(time.Second)
					for _, path := range []string{"/", "/alerts", "/node/bravo"} {
						_, text := w.Get(t, path)
						now := page{t, fmt.Sprintf("%s, %v after: %s", name, time.Since(began), path), text}
						level, title, _ := now.headline()
						if level == "well" && latest.IsZero() {
							continue // no sample of it yet
						}
						left := pagesIn.FindStringSubmatch(title)
						if late := time.Until(latest) < evaluation; late && (strings.HasSuffix(title, "; pages with the next evaluation") || strings.Contains(title, "; pages since ")) {
							continue
						}
						if level != story.severity || !strings.HasPrefix(title, "bravo: ") || left == nil {
							t.Fatalf("%s: %s: %s", now.what, level, title)
						}
						at := time.Now().Add(must.Get(time.ParseDuration(strings.NewReplacer(" min", "m", " s", "s", " ", "").Replace(left[1])))(t))
						if latest.IsZero() {
							latest = at
						}
						if at.After(latest.Add(5 * time.Second)) {
							t.Fatalf("%s: %s, first %v", now.what, title, latest)
						}
					}
					if latest.IsZero() {
						continue
					}
					_, answer := w.Get(t, "/explain?name="+story.alert+"&target=bravo&why=0")
					if !regexp.MustCompile(`it pages (in|within) \d|is pending|is firing`).MatchString(answer) {
						t.Fatalf("%v after: %s", time.Since(began), answer)
					}
				}
				time.Sleep(time.Until(latest))
				paged := func() bool {
					return slices.ContainsFunc(w.Alerts(t), func(a apptest.Alert) bool {
						return a.Labels["alertname"] == story.alert && a.Labels["severity"] == "page"
					})
				}
				if time.Sleep(2 * evaluation); !paged() {
					t.Errorf("%s does not page at %v", story.alert, latest)
				}
			})
		})
	}
}

// otherID is the node ID of no node of the simulation.
const otherID = "NodeID-MFrZFVCXPv5iCn6M9K6XduxGTYp891xXZ"

var pagesIn = regexp.MustCompile(`; pages (?:in|within) ((?:\d+ (?:min|s) ?)+)`)

// Once a node answers again, no page says that it does not, although the rules find it later. If it is silent again within a minute, the page was not green.
func TestPageBelievesTheNodeThatIsBack(t *testing.T) {
	testworld.Story(t)
	for name, stop := range map[string][]string{"one node": {"bravo"}, "three nodes": {"alpha", "bravo", "charlie"}} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, incident{quick: true, nodes: []string{"alpha", "bravo", "charlie", "foxtrot"}}, func(t *testing.T, w *world) {
				time.Sleep(10 * time.Minute)
				watch := func(what string, long time.Duration, check func(now page, level, title string)) {
					for end := time.Now().Add(long); time.Now().Before(end); {
						time.Sleep(time.Second)
						for _, path := range []string{"/", "/alerts", "/node/bravo"} {
							_, text := w.Get(t, path)
							now := page{t, fmt.Sprintf("%s, %v before its end: %s", what, time.Until(end), path), text}
							level, title, _ := now.headline()
							check(now, level, title)
						}
					}
				}
				before := []time.Duration{30 * time.Second, 90 * time.Second, 6 * time.Minute} // nothing fires, a warning, and a page
				for _, long := range before {
					each(stop, func(n string) { w.Node(n).Stop() })
					time.Sleep(long)
					each(stop, func(n string) { w.Node(n).Start() })
					watch(fmt.Sprintf("back after %v", long), 30*time.Second, func(now page, level, title string) {
						back := !w.aNodeIsDown()
						if back && strings.Contains(title, "no answer") && !strings.HasPrefix(title, "Just over: ") {
							t.Errorf("%s: %s", now.what, title)
						}
						if back && level == "bad" {
							t.Errorf("%s: %s: %s", now.what, level, title)
						}
						if level == "well" && long > time.Minute {
							t.Errorf("%s: green: %s", now.what, title)
						}
						if strings.Contains(now.text, "Read the log and start the node") && back {
							t.Errorf("%s: the action is about what is over: %s", now.what, title)
						}
					})
					time.Sleep(30 * time.Minute)
				}
			})
		})
	}
}

// The action belongs to the fault in the title, from its first moments, and the page says when it pages. What follows from the fault has no action of its own.
func TestActionBelongsToTheFault(t *testing.T) {
	testworld.Story(t)
	const wait = "Wait, and do not restart the node"
	for name, story := range map[string]struct {
		begin  func(w *world)
		after  []time.Duration
		title  []string // regular expressions, one for each time
		action []string
	}{
		"a chain bootstraps": {
			func(w *world) { w.Node("charlie").SetChain("C", simnet.Bootstrapping) },
			[]time.Duration{90 * time.Second, 4 * time.Minute, 12 * time.Minute},
			[]string{"^charlie: bootstrapping C; pages in [89] min", "^charlie: bootstrapping C; pages in [56] min", "^charlie: bootstrapping C; pages since"},
			[]string{wait, wait, "main.log"},
		},
		"a node that bootstraps stops": {
			func(w *world) {
				w.Node("charlie").SetChain("C", simnet.Bootstrapping)
				time.AfterFunc(2*time.Minute, w.Node("charlie").Stop)
			},
			[]time.Duration{140 * time.Second},
			[]string{"^charlie: no answer for"},
			[]string{"Check that the process is up"},
		},
		"the VM of a chain does not start": {
			func(w *world) { w.Node("alpha").SetChain("examplel1", simnet.Failed) },
			[]time.Duration{110 * time.Second, 4 * time.Minute},
			[]string{"^alpha: examplel1 did not start; pages in", "^alpha: examplel1 did not start; pages since"},
			[]string{"VM plugin", "main.log"},
		},
		"a disk is full": {
			func(w *world) { w.Node("bravo").FillDisk(0, 0) },
			[]time.Duration{100 * time.Second, 4 * time.Minute},
			[]string{"^bravo: disk full", "^bravo: disk full; pages in"},
			[]string{"Delete old logs", "Delete old logs"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, incident{quick: true, nodes: []string{"alpha", "bravo", "charlie", "foxtrot"}}, func(t *testing.T, w *world) {
				time.Sleep(10 * time.Minute)
				began := time.Now()
				story.begin(w)
				for i, after := range story.after {
					time.Sleep(time.Until(began.Add(after)))
					for _, path := range []string{"/", "/alerts"} {
						now := w.page(t, fmt.Sprintf("%s, %s", name, after), path)
						_, title, action := now.headline()
						if !regexp.MustCompile(story.title[i]).MatchString(title) || !strings.Contains(action, story.action[i]) {
							t.Errorf("%s after %s: %q, action %q", path, after, title, action)
						}
						now.has("!kill -9")
					}
				}
			})
		})
	}
}

// The page shows the most urgent validator of an L1 first, with the amount to top up. Only the time at which it runs out is red.
func TestPageShowsADrainingL1(t *testing.T) {
	testworld.Story(t)
	inWorld(t, incident{quick: true, nodes: []string{"alpha", "bravo", "charlie", "foxtrot"},
		change: func(a *apptest.World) { a.Env["COLLECTORS"] += ",l1_runway,reward_budget" }}, func(t *testing.T, w *world) {
		time.Sleep(10 * time.Minute)
		w.SetBalance("examplel1", "charlie", 512*47*60)
		w.SetBalance("examplel1", "foxtrot", 512*6*24*3600)
		time.Sleep(20 * time.Minute)
		now := w.page(t, "an L1 drains", "/")
		now.has(`id="l1-examplel1" open`, `<th scope="col">Top-up</th>`, "charlie: balance on examplel1 runs out at ")
		_, validators, _ := strings.Cut(now.text, "Validators of examplel1")
		if charlie, foxtrot := strings.Index(validators, "<b>charlie</b>"), strings.Index(validators, "<b>foxtrot</b>"); charlie < 0 || charlie > foxtrot {
			t.Errorf("charlie at %d, foxtrot at %d", charlie, foxtrot)
		}
		for _, want := range []string{`data-name="Runs out" class="bad">in `, `data-name="Burn per day" class="off"`, `data-name="Balance" class="off"`,
			`data-name="Top-up" class="off">1.`} {
			if row, _, _ := strings.Cut(validators[strings.Index(validators, "<b>charlie</b>"):], "</tr>"); !strings.Contains(row, want) {
				t.Errorf("%s missing in %s", want, row)
			}
		}
		if budgets := regexp.MustCompile(`data-name="Downtime budget" class="(\w+)`).FindAllStringSubmatch(now.text, -1); len(budgets) == 0 ||
			strings.Contains(fmt.Sprint(budgets), "bad") {
			t.Errorf("downtime budgets %v", budgets)
		}
		w.page(t, "an L1 drains", "/l1/examplel1").has("charlie: balance on examplel1 runs out at ")
		w.page(t, "an L1 drains", "/node/charlie").has("charlie: balance on examplel1 runs out at ")
		w.page(t, "an L1 drains", "/alerts")
	})
}

var (
	noAnswer = regexp.MustCompile(`id="node-(\w+)"><header><h3><a[^>]*>\w+</a></h3><span class="tag bad">no answer`)
)

func (w *world) aNodeIsDown() bool {
	for _, j := range w.Store().Jobs() {
		for _, c := range j.Fresh(time.Now()) {
			if c.Family.Name == "avax_node_up" && slices.ContainsFunc(c.Samples, func(s metric.Sample) bool { return s.Value == 0 }) {
				return true
			}
		}
	}
	return false
}

var (
	upOf    = regexp.MustCompile(`<span>(\d+) of (\d+) nodes? up</span>`)
	greenIn = regexp.MustCompile(`<article class="card ([a-z]+)[a-z ]*" id="node-(\w+)"><header><h3><a[^>]*>\w+</a></h3><span class="tag well[a-z ]*">([^<]*)`)
	wellIDs = regexp.MustCompile(`<article class="card well" id="node-(\w+)">`)
)

// pageIsHonest checks that nothing is green while something configured is unread, that all configured nodes are counted, and that the headline names
// nodes by their names, no node that is well, and those that do not answer first. It returns the page.
func (w *world) pageIsHonest(t *testing.T) string {
	t.Helper()
	synctest.Wait() // so that what happens at this moment is over
	_, page := w.Get(t, "/")
	w.isPossible(t, page)
	title := headline.FindStringSubmatch(page)
	if title == nil {
		t.Fatalf("no headline in\n%s", page)
	}
	configured := strings.Count(w.Env["NODES"], "=")
	if counts := upOf.FindStringSubmatch(page); counts != nil && counts[2] != fmt.Sprint(configured) {
		t.Errorf("%s, of %d configured nodes", counts[0], configured)
	}
	var well []string
	for _, m := range wellIDs.FindAllStringSubmatch(page, -1) {
		well = append(well, m[1])
	}
	if ran, of := w.Progress(); ran == of && title[1] == "well" {
		for _, j := range w.Store().Jobs() {
			if !time.Now().Before(j.Good.Until) && !errors.Is(j.Last.Err, metric.ErrNotOffered) {
				t.Errorf("green headline %q, although nothing is known about %s of %s: %v", title[2], j.Last.Collector, j.Last.Target, j.Last.Err)
			}
		}
	}
	whole := strings.ReplaceAll(title[2], `<span class="cut">`, "")
	for pair := range strings.SplitSeq(w.Env["NODES"], ",") {
		if name, _, _ := strings.Cut(pair, "="); name != "" && name != "spare" && strings.Contains(whole, w.NodeID(name)) {
			t.Errorf("the headline has the ID of %s: %s", name, title[2])
		}
	}
	for _, m := range greenIn.FindAllStringSubmatch(page, -1) {
		if m[1] != "well" {
			t.Errorf("%s is %s, but green: %s; the headline is %s", m[2], m[1], m[3], title[2])
		}
	}
	for _, name := range well {
		if regexp.MustCompile(`\b` + name + `\b`).MatchString(title[2]) {
			t.Errorf("the headline names %s, which is well: %s", name, title[2])
		}
	}
	silent := noAnswer.FindStringSubmatch(page)
	if silent != nil && !strings.HasPrefix(title[2], silent[1]+": no answer") && !strings.Contains(title[2], "nodes do not answer: ") {
		t.Errorf("%s does not answer, but the headline is %s", silent[1], title[2])
	}
	return page
}

// While an alert about a chain of a node fires, and the node stops too, the node leads.
func TestANodeThatStopsLeadsItsChains(t *testing.T) {
	t.Parallel()
	inWorld(t, incident{quick: true}, func(t *testing.T, w *world) {
		w.Node("bravo").SetChain("examplel1", simnet.Dead)
		time.Sleep(7 * time.Minute)
		w.page(t, "the VM has ended", "/").has("bravo: chain examplel1 does not answer")
		w.Node("bravo").Stop()
		for range 60 {
			time.Sleep(time.Second)
			w.pageIsHonest(t)
		}
	})
}

// A node that has never answered and one that stops are two faults, each with its own action. The one that stopped is news, and leads.
func TestANodeThatNeverAnsweredIsAnotherFaultThanOneThatStops(t *testing.T) {
	t.Parallel()
	change := func(a *apptest.World) { a.Env["NODES"] += ",absent=http://absent.sim" }
	inWorld(t, incident{quick: true, change: change}, func(t *testing.T, w *world) {
		const never = "absent: no answer since the exporter started"
		time.Sleep(7 * time.Minute)
		if _, title, do := w.page(t, "before", "/").headline(); !strings.HasPrefix(title, never) || !strings.Contains(do, "avax-exporter check") {
			t.Errorf("before: %s: %s", title, do)
		}
		w.Node("bravo").Stop()
		time.Sleep(20 * time.Second)
		for stopped := time.Now(); time.Since(stopped) < 7*time.Minute; time.Sleep(10 * time.Second) {
			now := w.page(t, time.Since(stopped).String()+" after bravo stopped", "/")
			if _, title, do := now.headline(); !strings.HasPrefix(title, "bravo: no answer for ") || strings.Contains(do, "avax-exporter check") {
				t.Errorf("%s: %s: %s", now.what, title, do)
			}
			now.has("absent has not answered since the exporter started. Run")
		}
	})
}

// Nodes that went down together page as one until all are back. Once only one of them is down, what to do is about this node.
func TestTheLastNodeOfAJointOutageHasItsOwnAction(t *testing.T) {
	t.Parallel()
	inWorld(t, incident{quick: true}, func(t *testing.T, w *world) {
		fall := []string{"alpha", "bravo", "charlie"}
		each(fall, func(n string) { w.Node(n).Stop() })
		time.Sleep(6 * time.Minute)
		const together = "Find what these nodes share"
		if _, _, do := w.page(t, "in the outage", "/").headline(); !strings.HasPrefix(do, together) {
			t.Errorf("in the outage: %s", do)
		}
		w.Node("alpha").Start()
		w.Node("charlie").Start()
		for since := time.Now(); time.Since(since) < 4*time.Minute; {
			time.Sleep(10 * time.Second)
			now := w.page(t, fmt.Sprintf("%v after two are back", time.Since(since)), "/")
			if _, title, do := now.headline(); time.Since(since) > time.Minute && (!strings.HasPrefix(title, "bravo: no answer") || !strings.Contains(do, "log in to bravo")) {
				t.Errorf("%v: %s: %s", time.Since(since), title, do)
			} else if strings.HasPrefix(title, "bravo: ") {
				now.has("!" + together)
			}
		}
	})
}

// The first moments after a start have no problem, also if the exporter was off for a while.
func TestPageAfterAStartIsQuiet(t *testing.T) {
	testworld.Story(t)
	inWorld(t, incident{quick: true}, func(t *testing.T, w *world) {
		for _, start := range []string{"the first start", "a start after half an hour"} {
			for began := time.Now(); time.Since(began) < 2*time.Minute; time.Sleep(3 * time.Second) {
				now := w.page(t, fmt.Sprintf("%v after %s", time.Since(began), start), "/")
				if level, title, action := now.headline(); level == "warn" || level == "bad" || len(now.items()) > 0 {
					t.Errorf("%s: %s: %s. %s; %q", now.what, level, title, action, now.titles())
				}
			}
			time.Sleep(10 * time.Minute)
			w.Stop()
			time.Sleep(30 * time.Minute)
			w.StartNow(t)
		}
	})
}

// A loop of restarts that is over is an alert for minutes longer, and does not lead: what is wrong now does.
func TestWhatIsOverDoesNotLead(t *testing.T) {
	testworld.Story(t)
	inWorld(t, incident{quick: true, nodes: []string{"alpha", "bravo", "charlie", "foxtrot"}}, func(t *testing.T, w *world) {
		time.Sleep(10 * time.Minute)
		for began := time.Now(); time.Since(began) < 15*time.Minute; {
			w.Node("bravo").Stop()
			time.Sleep(50 * time.Second)
			w.Node("bravo").Start()
			time.Sleep(20 * time.Second)
		}
		now := w.page(t, "in the loop", "/")
		if level, title, _ := now.headline(); level != "bad" || !strings.HasPrefix(title, "bravo: ") {
			t.Errorf("in the loop: %s: %s", level, title)
		}
		time.Sleep(2 * time.Minute)
		w.Disconnect("charlie")
		cut, remembered := time.Now(), 0
		for time.Since(cut) < 6*time.Minute {
			now := w.page(t, fmt.Sprintf("%v after charlie lost its peers", time.Since(cut)), "/")
			level, title, _ := now.headline()
			if slices.Contains(strings.Fields(now.problems()), "AvaxNodeDown") && strings.Contains(now.text, "charlie: ") {
				remembered++
				if strings.HasPrefix(title, "bravo") {
					t.Errorf("%s: %s: %s", now.what, level, title)
				}
			}
			// An alert may begin between two pages.
			if all := w.page(t, now.what, "/alerts"); all.problems() != now.problems() && all.problems() != w.page(t, now.what, "/").problems() {
				t.Errorf("%s: alerts in the order %s, on the status page %s", now.what, all.problems(), now.problems())
			}
			time.Sleep(15 * time.Second)
		}
		if remembered < 2 {
			t.Errorf("both were on the page %d times", remembered)
		}
	})
}
