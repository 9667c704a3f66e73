package scrape_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avax-exporter/avax-exporter/scrape"
)

func TestPausesDoubleWithEachRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent []int // minutes
		refuses, began := true, time.Now()
		u := open(t, scrape.Options{
			URL: "http://node", RepeatAfter: func(_ string, err error, _ bool) time.Duration {
				if scrape.OutcomeOf(err) == scrape.Forbidden {
					return time.Minute
				}
				return 0
			},
			Transport: transport(func(r *http.Request) (*http.Response, error) {
				sent = append(sent, int(time.Since(began).Minutes()))
				resp, err := answering(`{"id":1,"result":{"height":1}}`)(r)
				if refuses {
					resp.StatusCode = http.StatusForbidden
				}
				return resp, err
			}),
		})
		for range 200 {
			if _, err := callHeight(scrape.MaxAge(t.Context(), time.Second), u, nil); scrape.OutcomeOf(err) != scrape.Forbidden {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
		if want := []int{0, 1, 3, 7, 15, 31, 63, 123, 183}; !slices.Equal(sent, want) {
			t.Errorf("sent after %v minutes, want %v", sent, want)
		}

		refuses = false
		time.Sleep(time.Hour)
		if _, err := callHeight(t.Context(), u, nil); err != nil {
			t.Error(err)
		}
		refuses = true
		sent, began = nil, time.Now()
		for range 40 {
			_, _ = callHeight(scrape.MaxAge(t.Context(), time.Second), u, nil)
			time.Sleep(time.Minute)
		}
		if want := []int{0, 1, 3, 7, 15, 25, 35}; !slices.Equal(sent, want) {
			t.Errorf("after an answer: sent after %v minutes, want %v", sent, want)
		}
	})
}

// Some paths are called once, such as those of blocks. However many were, a refused call and a pause are still obeyed.
func TestRefusalsAndPausesAreObeyedAfterManyPaths(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent, status := 0, http.StatusOK
		u := open(t, scrape.Options{
			URL: "http://node", Rate: 1e6, RepeatAfter: func(_ string, err error, _ bool) time.Duration {
				if scrape.OutcomeOf(err) == scrape.Forbidden {
					return time.Minute
				}
				return 0
			},
			Transport: transport(func(r *http.Request) (*http.Response, error) {
				sent++
				resp, err := answering(good)(r)
				resp.StatusCode = status
				resp.Header.Set("Retry-After", "60")
				return resp, err
			}),
		})
		call := func(path string) (requests int) {
			before := sent
			_, _ = rpc[height](t.Context(), u, path, "platform.getHeight", nil)
			return sent - before
		}
		for i := range 5000 {
			if call(fmt.Sprintf("/blocks/%d", i)) != 1 {
				t.Fatal("not sent")
			}
		}
		status = http.StatusForbidden
		if first, second := call("/refused"), call("/refused"); first != 1 || second != 0 {
			t.Errorf("%d requests and then %d of a refused call, want 1 and 0", first, second)
		}
		status = http.StatusTooManyRequests
		if first, second := call("/blocks/5000"), call("/blocks/5001"); first != 1 || second != 0 {
			t.Errorf("%d requests and then %d in a pause, want 1 and 0", first, second)
		}
	})
}
