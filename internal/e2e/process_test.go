package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
)

func TestMain(m *testing.M) { os.Exit(testworld.Main(m)) }

// getJSON requests a page of JSON.
func getJSON(ctx context.Context, url string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return json.NewDecoder(resp.Body).Decode(into)
}

// eventually waits until condition returns an empty text.
func eventually(t *testing.T, condition func() (missing string)) {
	t.Helper()
	testworld.Await(t, "eventually", func() error {
		if missing := condition(); missing != "" {
			return errors.New(missing)
		}
		return nil
	})
}
