package compile

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
)

// maxRange is the longest range of a rule: the exporter's own engine has the samples of two hours.
const maxRange = 2 * time.Hour

// oldest is how old the newest sample may be if scrapes are a minute apart and one is lost.
const oldest = 2 * time.Minute

func shorter(text string, than time.Duration) bool {
	d, err := model.ParseDuration(text)
	return err == nil && time.Duration(d) < than
}

// check returns what an author of an alert often gets wrong.
func (t entry) check() error {
	switch {
	case !slices.Contains(severities, t.Severity):
		return fmt.Errorf("severity: %q: write one of %s", t.Severity, strings.Join(severities, ", "))
	case t.Summary == "" || t.Description == "":
		return errors.New("write summary, which a phone shows, and description")
	case t.Severity == "page" && t.Impact == "":
		return errors.New("impact: say what is lost: this wakes somebody")
	case (t.Severity == "page" || t.Severity == "warn") && t.Action == "":
		return errors.New("action: say what to do first")
	case t.Forecast != "" && t.Forecast != "at" && t.Forecast != "in":
		return fmt.Errorf("forecast: %q: write at, if the value is the time of the loss, or in, if it is the time until then", t.Forecast)
	case t.PagesWithin != "" && t.PagesWithin != known:
		return fmt.Errorf("pages_within: %q: write %s: the time is that of the record %s, else that of for", t.PagesWithin, known, faultPages)
	case t.For != "" && t.notes["for"] == "" && shorter(t.For, oldest):
		return fmt.Errorf("for: %s: the newest sample may be older after a lost scrape: write %s, or the reason as a comment", t.For, model.Duration(oldest))
	case t.Keep != "" && t.notes["keep_firing_for"] == "":
		return errors.New("keep_firing_for: add the reason as a comment: what recovers later than this alert?")
	}
	return nil
}

// checkExpr returns what is wrong in an expression, whatever it means.
func checkExpr(expr parser.Expr) (err error) {
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		switch e := n.(type) {
		case *parser.MatrixSelector:
			if e.Range > maxRange && strings.HasPrefix(e.VectorSelector.(*parser.VectorSelector).Name, "avax") {
				err = fmt.Errorf("%s: longer than %s: record what is needed again at each evaluation, and read the record", e, model.Duration(maxRange))
			}
		case *parser.AggregateExpr:
			if e.Op == parser.TOPK || e.Op == parser.BOTTOMK {
				err = fmt.Errorf("%s: among equal values it takes a different one after each restart: compare with max without (…) instead", e.ShortString())
			}
		}
		return nil
	})
	return err
}
