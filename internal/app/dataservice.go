package app

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

// dataService is the client of the Data service with its budget and key.
type dataService struct {
	*data.Client
	up      *scrape.Upstream
	budget  *data.Budget
	keyFile config.KeyFile

	mu  sync.Mutex
	key string // current key
}

// newDataService creates the client. It sends nothing.
func newDataService(t *targets) (*dataService, error) {
	s := &dataService{budget: &data.Budget{PerMinute: t.cfg.DataPerMinute, PerDay: t.cfg.DataPerDay}, keyFile: t.cfg.DataKey}
	var err error
	if s.key, err = s.keyFile.Read(); err != nil {
		return nil, fmt.Errorf("AVAX_DATA_API_KEY_FILE: %w", err)
	}
	s.up, err = t.upstream(scrape.Options{Name: "data", URL: t.cfg.DataURL, MaxWait: serviceMaxWait, Header: s.keyFile.Header(s.key), Admit: s.budget.Admit, RepeatAfter: data.RepeatAfter})
	if err != nil {
		return nil, fmt.Errorf("AVAX_DATA_URL: %w", err)
	}
	s.Client = data.New(s.up)
	return s, nil
}

// reloadKey reads the key file and uses the new key. After an error the previous key stays in use.
func (s *dataService) reloadKey() (changed bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key, err := s.keyFile.Read()
	if err == nil && key != s.key {
		err = s.up.Renew(s.keyFile.Header(key), nil)
		changed = err == nil
	}
	if err != nil {
		return false, fmt.Errorf("AVAX_DATA_API_KEY_FILE: %w", err)
	}
	s.key = key
	return changed, nil
}

// keyPollInterval is the polling interval of the key file.
const keyPollInterval = 3 * time.Second

// watchKey reloads the key when its file changes, until ctx ends. It uses a key only after reading the same key twice in a row,
// because the file may be partly written. It logs an error when the error first appears.
func (s *dataService) watchKey(ctx context.Context, log *slog.Logger) {
	if !s.keyFile.Configured() {
		return
	}
	tick := time.NewTicker(keyPollInterval)
	defer tick.Stop()
	seen, logged := s.key, ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		before := seen
		if seen, _ = s.keyFile.Read(); seen != before {
			continue
		}
		changed, err := s.reloadKey()
		switch {
		case err != nil && err.Error() != logged:
			logged = err.Error()
			log.Error("reload failed, keeping the previous configuration", "config", "data_api_key", "err", err)
		case err == nil:
			logged = ""
		}
		if changed {
			log.Info("configuration reloaded", "config", "data_api_key", "upstream", s.Name())
		}
	}
}
