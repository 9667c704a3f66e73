package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

// parseData reads what the Data service is asked with.
func (env environment) parseData(c *config, note func(variable string, errs ...error)) {
	var err error
	c.dataURL = env.DataURL
	if c.dataURL != "" {
		note("DATA_URL", scrape.CheckURL(c.dataURL))
	}
	c.key = keyFile{path: env.DataAPIKeyFile, header: env.DataAPIKeyHeader}
	_, err = c.key.read()
	note("DATA_API_KEY_FILE", err)
	if c.key.path != "" && c.dataURL == "" {
		note("DATA_API_KEY_FILE", errors.New("a key is of no use without its service: set AVAX_DATA_URL"))
	}
	note("DATA_API_KEY_HEADER", checkKeyHeader(env.DataAPIKeyHeader))
	c.perMinute, c.perDay, err = parseBudget(env.DataBudget)
	note("DATA_BUDGET", err)
	c.network = env.Network
	if !slices.Contains([]string{data.Mainnet, data.Fuji, data.Testnet}, c.network) {
		note("NETWORK", fmt.Errorf("%q: write mainnet, fuji or testnet", c.network))
	}
	if c.dataURL != "" && (c.networkID == 1 && c.network != data.Mainnet || c.networkID == 5 && c.network == data.Mainnet) {
		note("NETWORK", fmt.Errorf("the Data service would tell of %s, and AVAX_NODE_NETWORK_ID says that the nodes belong to %s: write the same", c.network, env.NodeNetworkID))
	}
	c.stateDir = env.StateDir
	if c.stateDir != "" {
		note("STATE_DIR", checkDir(c.stateDir))
	}
	c.currency = env.Currency
	if !slices.Contains(data.Currencies(), c.currency) {
		note("CURRENCY", fmt.Errorf("%q: write one of %s", c.currency, strings.Join(data.Currencies(), ", ")))
	}
}

// checkDir tells why nothing can be kept in a directory. It does not make one:
// whoever checks the configuration may be another user than the exporter.
func checkDir(path string) error {
	f, err := os.CreateTemp(path, "check-*.tmp")
	if err == nil {
		err = errors.Join(f.Close(), os.Remove(f.Name()))
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return nil // a full disk is something to page for, not to stay down for
	}
	var e *fs.PathError
	if errors.As(err, &e) {
		err = fmt.Errorf("%s: %w: make a directory that this user may write to", path, e.Err)
	}
	return err
}

// dataService is the way to the Data service: its door, what may be spent
// there, and the key.
type dataService struct {
	*data.Client
	up     *scrape.Upstream
	budget *data.Budget
	key    keyFile

	mu   sync.Mutex
	sent string // the key that is sent
}

// newDataService sends nothing.
func newDataService(c *config, m *scrape.Metrics) (*dataService, error) {
	s := &dataService{budget: &data.Budget{PerMinute: c.perMinute, PerDay: c.perDay}, key: c.key}
	var err error
	if s.sent, err = s.key.read(); err != nil {
		return nil, fmt.Errorf("AVAX_DATA_API_KEY_FILE: %w", err)
	}
	s.up, err = scrape.New(scrape.Options{
		Name: "data", URL: c.dataURL, Header: s.key.as(s.sent), Admit: s.budget.Admit,
		Timeout: c.timeout, Concurrency: c.concurrency, MaxBody: c.maxBody, Metrics: m, Transport: c.transport,
	})
	if err != nil {
		return nil, fmt.Errorf("AVAX_DATA_URL: %w", err)
	}
	s.Client = data.New(s.up)
	return s, nil
}

// keyFile is where a key stands, and the header that it is sent in.
type keyFile struct{ path, header string }

// read returns the key; empty where no file is configured. No error shows what
// stands in the file, nor its name: somebody may have written the key there.
func (k keyFile) read() (string, error) {
	if k.path == "" {
		return "", nil
	}
	text, err := os.ReadFile(k.path)
	var e *fs.PathError
	if errors.As(err, &e) {
		err = e.Err
	}
	if err != nil {
		return "", fmt.Errorf("%w: name a file that this user may read, with the key in it", err)
	}
	key := strings.TrimSpace(string(text))
	if key == "" || strings.ContainsFunc(key, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		return "", errors.New("the file holds no key, or more than that: write one key, on one line")
	}
	return key, nil
}

// as is the header with a key in it.
func (k keyFile) as(key string) http.Header {
	if key == "" {
		return nil
	}
	return http.Header{http.CanonicalHeaderKey(k.header): {key}}
}

// renew reads the key anew and sends that from now on. On an error the old one
// stays.
func (s *dataService) renew() (changed bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key, err := s.key.read()
	if err == nil && key != s.sent {
		err = s.up.Renew(s.key.as(key), nil)
		changed = err == nil
	}
	if err != nil {
		return false, fmt.Errorf("AVAX_DATA_API_KEY_FILE: %w", err)
	}
	s.sent = key
	return changed, nil
}

// lookForKeyEvery is how often the file of the key is looked at.
const lookForKeyEvery = 3 * time.Second

// follow takes over a new key whenever its file changes, until ctx ends: once it
// has stood for one look, so that nobody sends half a key. A problem is told when
// it appears.
func (s *dataService) follow(ctx context.Context, log *slog.Logger) {
	if s.key.path == "" {
		return
	}
	tick := time.NewTicker(lookForKeyEvery)
	defer tick.Stop()
	seen, told := s.sent, ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		before := seen
		if seen, _ = s.key.read(); seen != before {
			continue
		}
		changed, err := s.renew()
		switch {
		case err != nil && err.Error() != told:
			told = err.Error()
			log.Error("the old key stays", "err", err)
		case err == nil:
			told = ""
		}
		if changed {
			log.Info("key read anew", "upstream", s.Name())
		}
	}
}

// parseBudget reads compute units a minute and a day; 0 stands for one that is
// not limited.
func parseBudget(s string) (perMinute, perDay int, err error) {
	wrong := fmt.Errorf("%q: write compute units a minute, a day or both, such as 6000/m,1200000/d", s)
	for item := range fields(s, ",") {
		digits, window, _ := strings.Cut(item, "/")
		n, err := strconv.Atoi(digits)
		limit, known := map[string]*int{"m": &perMinute, "d": &perDay}[window]
		if err != nil || n < 1 || !known || *limit != 0 {
			return 0, 0, wrong
		}
		*limit = n
	}
	if perMinute == 0 && perDay == 0 {
		return 0, 0, wrong
	}
	return perMinute, perDay, nil
}

var headerForm = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// checkKeyHeader refuses, too, the headers that a request needs for itself.
func checkKeyHeader(s string) error {
	switch http.CanonicalHeaderKey(s) {
	case "Host", "Connection", "Content-Length", "Content-Type", "Transfer-Encoding", "Accept", "Accept-Encoding", "User-Agent":
		return fmt.Errorf("%q means something else: write the header that the service wants the key in, such as x-service-api-key", s)
	}
	if !headerForm.MatchString(s) {
		return errors.New("no name of a header: write one such as x-service-api-key; the key itself belongs into a file") // maybe the key is there
	}
	return nil
}
