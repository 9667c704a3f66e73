package notify

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"reflect"

	"github.com/prometheus/alertmanager/notify"

	"github.com/avax-exporter/avax-exporter/internal/remedy"
)

// answer is what the answers to one notification mean. Alertmanager's code takes each 2xx for success, also that of a gateway that says in its body
// that it delivered nothing.
type answer struct{ refusal error }

type answerKey struct{}

// withAnswer returns a context whose requests write into the answer.
func withAnswer(ctx context.Context) (context.Context, *answer) {
	a := new(answer)
	return context.WithValue(ctx, answerKey{}, a), a
}

// reading is a transport that reads the answers.
type reading struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t reading) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.RoundTripper.RoundTrip(r)
	a, wanted := r.Context().Value(answerKey{}).(*answer)
	if err != nil || !wanted || resp.StatusCode/100 != 2 {
		return resp, err
	}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxRead)) // an incomplete body says nothing: the status was read
	if refusal := remedy.Refusal(r.URL.Hostname(), body); refusal != nil && a.refusal == nil {
		a.refusal = fmt.Errorf("the service answers %s with %w: it does not accept the notification: correct the address, the key or the token",
			resp.Status, refusal)
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), resp.Body), resp.Body}
	return resp, nil
}

// readsAnswers gives the transport of an integration to reading, and reports whether the integration has one. Alertmanager's packages have no option for
// this: each makes its HTTP client from the configuration, in a field of this name.
func readsAnswers(i *notify.Integration) bool {
	field := reflect.ValueOf(i).Elem().FieldByName("notifier")
	for field.IsValid() && (field.Kind() == reflect.Interface || field.Kind() == reflect.Pointer) {
		field = field.Elem()
	}
	if field.Kind() != reflect.Struct {
		return false
	}
	client := field.FieldByName("client")
	if !client.IsValid() || client.Type() != reflect.TypeFor[*http.Client]() {
		return false
	}
	c := (*http.Client)(client.UnsafePointer())
	c.Transport = reading{c.Transport}
	return true
}
