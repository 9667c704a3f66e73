package config

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unicode"

	"github.com/avax-exporter/avax-exporter/internal/regular"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

// parseData parses the settings of the Data service.
func (env Environment) parseData(c *Config, note func(variable string, errs ...error)) {
	var err error
	c.DataURL = env.DataURL
	if c.DataURL != "" {
		note("DATA_URL", scrape.CheckURL(c.DataURL))
	}
	c.DataKey = KeyFile{path: env.DataAPIKeyFile, header: env.DataAPIKeyHeader}
	_, err = c.DataKey.Read()
	note("DATA_API_KEY_FILE", err)
	if c.DataKey.path != "" && c.DataURL == "" {
		note("DATA_API_KEY_FILE", errors.New("not used without the Data service: set AVAX_DATA_URL, or remove the key"))
	}
	note("DATA_API_KEY_HEADER", checkKeyHeader(env.DataAPIKeyHeader))
	c.DataPerMinute, c.DataPerDay, err = parseBudget(env.DataBudget)
	note("DATA_BUDGET", err)
	c.Network = env.Network
	if !slices.Contains([]string{"", data.Mainnet, data.Fuji, data.Testnet}, c.Network) {
		note("NETWORK", fmt.Errorf("%q: write mainnet, fuji or testnet", c.Network))
	}
	if c.DataURL != "" && c.Network != "" && (c.NetworkID == 1 && c.Network != data.Mainnet || c.NetworkID == 5 && c.Network == data.Mainnet) {
		note("NETWORK", fmt.Errorf("the network is %s, but AVAX_NODE_NETWORK_ID is %s: set the same network", c.Network, env.NodeNetworkID))
	}
	c.StateDir = env.StateDir
	if c.StateDir != "" {
		note("STATE_DIR", checkDir(c.StateDir))
	}
	c.Currency = env.Currency
	if !slices.Contains(data.Currencies(), c.Currency) {
		note("CURRENCY", fmt.Errorf("%q: write one of %s", c.Currency, strings.Join(data.Currencies(), ", ")))
	}
}

// checkDir returns an error if no file can be written to a directory. It does not create the directory, because the check may run
// as another user than the exporter.
func checkDir(path string) error {
	f, err := os.CreateTemp(path, "check-*.tmp")
	if err == nil {
		err = errors.Join(f.Close(), os.Remove(f.Name()))
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return nil // with a full disk, the exporter must start and alert
	}
	var e *fs.PathError
	if errors.As(err, &e) {
		err = fmt.Errorf("%s: %w: create a directory that this user may write to", path, e.Err)
	}
	return err
}

// KeyFile holds the path of a file with an API key, and the header for the key.
type KeyFile struct{ path, header string }

// Configured reports whether a key file is configured.
func (k KeyFile) Configured() bool { return k.path != "" }

// Read returns the key, or an empty string if no key file is configured. Errors contain neither the content nor the name of the
// file, because an operator may have written the key in place of the name.
func (k KeyFile) Read() (string, error) {
	if k.path == "" {
		return "", nil
	}
	text, err := regular.ReadFile(k.path)
	var e *fs.PathError
	if errors.As(err, &e) {
		err = e.Err
	}
	if err != nil {
		return "", fmt.Errorf("%w: write the path of a file that contains the key and that this user may read", err)
	}
	key := strings.TrimSpace(string(text))
	if key == "" || strings.ContainsFunc(key, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		return "", errors.New("the file must contain only the key, on one line")
	}
	return key, nil
}

// Header returns the request header with this key.
func (k KeyFile) Header(key string) http.Header {
	if key == "" {
		return nil
	}
	return http.Header{http.CanonicalHeaderKey(k.header): {key}}
}

// parseBudget parses compute units per minute and per day; 0 means no limit.
func parseBudget(s string) (perMinute, perDay int, err error) {
	wrong := fmt.Errorf("%q: write compute units per minute, per day or both, such as 6000/m,1200000/d", s)
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

// checkKeyHeader returns an error for an invalid header name, and for a header that a request already uses.
func checkKeyHeader(s string) error {
	switch http.CanonicalHeaderKey(s) {
	case "Host", "Connection", "Content-Length", "Content-Type", "Transfer-Encoding", "Accept", "Accept-Encoding", "User-Agent":
		return fmt.Errorf("%q has another purpose: write the header in which the service expects the key, such as x-service-api-key", s)
	}
	if !headerForm.MatchString(s) {
		return errors.New("invalid header name: write a name such as x-service-api-key, and put the key into a file") // the value may be the key
	}
	return nil
}
