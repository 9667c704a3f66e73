package app

import (
	"fmt"
	"path/filepath"

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
	s.share(t)
	var err error
	if s.up, err = t.service(scrape.Options{Name: "data", URL: string(t.cfg.DataURL), Admit: s.budget.Admit, RepeatAfter: data.RepeatAfter}); err != nil {
		return nil, fmt.Errorf("AVAX_DATA_URL: %w", err)
	}
	s.Client = data.New(s.up)
	return s, nil
}

// budgetEntry is the stored value for what was spent.
const budgetEntry = "data-budget"

// share stores what this process spends, so that a restart does not make spent units available again. The exporter and a command with the same state
// directory count what the other one spends: a command stores it in a directory of its own below.
func (s *dataService) share(t *targets) {
	root := string(t.cfg.StateDir)
	if root == "" {
		return
	}
	dir, other := t.state, CommandDir(root)
	if dir == nil {
		dir, other = &state.Dir{}, root
		if opened, err := state.Open(CommandDir(root)); err == nil {
			dir = opened
		}
	}
	if spent, found := state.Load[data.Spendings](dir, budgetEntry); found {
		s.budget.Restore(spent)
	}
	s.budget.Save = func(spent data.Spendings) { _ = dir.Save(budgetEntry, spent) } // after an error, a restart forgets what was spent
	s.budget.Others = func() data.Spendings {
		spent, _ := state.Peek[data.Spendings](other, budgetEntry)
		return spent
	}
}

// CommandDir returns the directory of what commands store, below the state directory.
func CommandDir(stateDir string) string { return filepath.Join(stateDir, "ledger") }
