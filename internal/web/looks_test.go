package web

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/simnet"
	"github.com/avax-exporter/avax-exporter/scrape"
)

// overflow lists what sticks out on the right of a window that is so wide. The
// browser's own idea of the width is no help: on a phone it zooms out until all fits.
func overflow(c *chromium, width int) string {
	return eval[string](c, fmt.Sprintf(`(() => {
		const width = %d, out = [], all = document.documentElement;
		for (const e of document.querySelectorAll("body, body *"))
			if (e.getBoundingClientRect().right > width + 0.5) out.push(e.tagName + "." + e.className + " " + e.textContent.trim().slice(0, 40));
		if (all.scrollWidth > width || innerWidth != width) out.push("the page is " + all.scrollWidth + " wide, shown in " + innerWidth);
		return out.join("\n");
	})()`, width))
}

// The page as people see it, on the simulated network: with all well, with a
// little of everything wrong, and just after its start. With -artifacts the
// pictures stay.
func TestThePageIsReadableOnAPhoneAndOnADesk(t *testing.T) {
	t.Parallel()
	quiet := openDemo(t)
	for _, name := range []string{"charlie", "echo"} {
		quiet.network.TopUp("examplel1", name, 10e9)
	}
	quiet.run(t.Context(), time.Hour)

	troubled := openDemo(t)
	troubled.run(t.Context(), time.Hour)
	troubled.network.Node("bravo").Stop()
	troubled.network.Node("charlie").SetChain("C", simnet.Bootstrapping)
	troubled.network.Node("alpha").SetObservedUptime(70)
	troubled.network.SetBalance("examplel1", "echo", 0)
	troubled.network.SetBalance("examplel1", "charlie", 512*60*60*60) // 60 hours
	troubled.network.SetBalance("examplel1", "foxtrot", 512*60*60*200)
	troubled.network.RemoveValidator("P", "charlie")
	troubled.network.SetVersion("foxtrot", "1.14.2")
	troubled.network.AnnounceUpgrade(time.Now().Add(100*time.Hour), "delta", "echo", "golf", "hotel")
	troubled.network.MetricsService().Suffer(simnet.RateLimited(time.Minute))
	troubled.run(t.Context(), time.Hour)

	starting := newSite()
	starting.Progress = func() (ran, of int) { return 0, 60 }

	long := told(t, `avax_node_info{node="`+strings.Repeat("n", metric.MostValue)+`",node_id="`+strings.Repeat("i", metric.MostValue)+`",version="`+strings.Repeat("v", metric.MostValue)+`"} 1
		avax_node_chain_present{node="a",chain="`+strings.Repeat("c", metric.MostValue)+`"} 1
		avax_validator_present{node_id="`+strings.Repeat("i", metric.MostValue)+`"} 0
		avax_l1_weight{chain="`+strings.Repeat("c", metric.MostValue)+`"} 1e300`)
	fail(long, "peers", metric.Target{Node: "a"}, outcome("info.peers", scrape.Rejected, strings.Repeat("x", 300)))

	c := openChromium(t)
	pictures := t.ArtifactDir()
	usual := []window{{390, 844, "light"}, {390, 844, "dark"}, {1300, 900, "light"}, {1300, 900, "dark"}}
	extreme := []window{{360, 640, "dark"}, {1400, 900, "light"}}
	for _, scene := range []struct {
		name, url, verdict string
		windows            []window
	}{
		{"well", serve(t, quiet.site), "All is well", usual},
		{"troubled", serve(t, troubled.site), "8 urgent problems, 4 that can wait", append(usual, extreme...)},
		{"incident", serve(t, incident(t)), "8 urgent problems, 7 that can wait", append(usual, extreme...)},
		{"starting", serve(t, starting), "Waiting for the first answers", extreme},
		{"long", serve(t, long), "1 urgent problem, 1 that can wait", extreme},
	} {
		for _, w := range scene.windows {
			name := fmt.Sprintf("%s-%d-%s", scene.name, w.width, w.scheme)
			c.visit(scene.url+"/", w)
			eval[any](c, `document.querySelectorAll("details").forEach(d => d.open = true)`)
			if out := overflow(c, w.width); out != "" {
				t.Errorf("%s: sticks out:\n%s", name, out)
			}
			if got := eval[string](c, `document.querySelector("h1").innerText`); got != scene.verdict {
				t.Errorf("%s: the verdict is %q, want %q", name, got, scene.verdict)
			}
			// The style is let through by the page's own policy, and follows the scheme.
			page := eval[string](c, `getComputedStyle(document.body).backgroundColor`)
			if dark := page == "rgb(14, 17, 22)"; dark != (w.scheme == "dark") {
				t.Errorf("%s: the page is %s", name, page)
			}
			c.screenshot(filepath.Join(pictures, name+".png"))
		}
	}
	for _, complaint := range c.complaints {
		t.Error(complaint)
	}
}

// Whatever a node or a chain calls itself, it is text.
func TestHostileTextStaysTextInABrowser(t *testing.T) {
	t.Parallel()
	s := hostile(t)
	c := openChromium(t)
	c.visit(serve(t, s)+"/", window{390, 844, "light"})
	if got := eval[int](c, `document.querySelectorAll("script, img, iframe, b > i, [onerror], [onclick]").length`); got != 0 {
		t.Errorf("%d elements came from outside", got)
	}
	if got := eval[string](c, `document.title`); got != "3 urgent problems, 3 that can wait – avax-exporter" {
		t.Errorf("the title is %q", got)
	}
	text := eval[string](c, `document.documentElement.textContent`)
	for _, want := range hostileTexts {
		if !strings.Contains(text, want) {
			t.Errorf("not shown as it is: %s", want)
		}
	}
	for _, complaint := range c.complaints {
		t.Error(complaint)
	}

	// A policy that lets no script run stands behind all that.
	eval[any](c, `document.body.append(Object.assign(document.createElement("script"), {textContent: "document.title = 'ran'"}))`)
	if got := eval[string](c, `document.title`); got == "ran" {
		t.Error("the page lets scripts run")
	}
}

// A link of the verdict leads to its place, also where that is folded away.
func TestAPlaceThatIsFoldedAwayOpensForItsLink(t *testing.T) {
	t.Parallel()
	var lines strings.Builder
	for i := range 3 * openNodes {
		fmt.Fprintf(&lines, "avax_node_up{node=\"n%02d\"} 1\n", i)
	}
	s := told(t, lines.String())
	c := openChromium(t)
	c.visit(serve(t, s)+"/#node-n70", window{390, 844, "light"})
	if !eval[bool](c, `document.getElementById("node-n70").closest("details").open`) {
		t.Error("still folded")
	}
}
