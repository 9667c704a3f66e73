package app

import (
	"fmt"

	"github.com/avax-exporter/avax-exporter/internal/state"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

// dataService is the client of the Data service with its budget.
type dataService struct {
	*data.Client
	up     *scrape.Upstream
	budget *data.Budget
}

// newDataService creates the client. It sends nothing.
func newDataService(t *targets) (*dataService, error) {
	s := &dataService{budget: &data.Budget{PerMinute: t.cfg.DataBudget.PerMinute, PerDay: t.cfg.DataBudget.PerDay}}
	if t.state != nil { // a restart does not make spent units available again
		const entry = "data-budget"
		if spent, found := state.Load[data.Spendings](t.state, entry); found {
			s.budget.Restore(spent)
		}
		s.budget.Save = func(spent data.Spendings) { _ = t.state.Save(entry, spent) } // after an error, a restart forgets what was spent
	}
	var err error
	if s.up, err = t.service(scrape.Options{Name: "data", URL: string(t.cfg.DataURL), Admit: s.budget.Admit, RepeatAfter: data.RepeatAfter}); err != nil {
		return nil, fmt.Errorf("AVAX_DATA_URL: %w", err)
	}
	s.Client = data.New(s.up)
	return s, nil
}
