package notify_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/prometheus/common/model"

	"github.com/avax-exporter/avax-exporter/internal/notify"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// texts are what alerts say. A node chooses parts of the texts of its alerts, such as the name of a health check.
var texts = map[string]string{
	"plain": "X: L1 validator V%d runs out of AVAX in 3 h",
	"hostile": `V%d </b></p><script>x</script><a href="https://evil.example">Runbook</a> <!channel> <@U1> <https://evil.example|Runbook> @everyone @here ` +
		"[Runbook](https://evil.example) *b* _i_ ~s~ `code` ||spoiler|| & + \" ' \\ {{ .Status }} \r\nBcc: evil@example.org\r\n\r\n\x1b[31m\x00\u202e\u200b" +
		strings.Repeat("💥", 300) + strings.Repeat("<&>\"'+", 300) + strings.Repeat("長", 3000),
}

// alertsOf returns alerts of one group.
func alertsOf(n int, text string) (all []model.Alert) {
	for i := range n {
		label := func(s string) model.LabelValue { return model.LabelValue(strings.ToValidUTF8(s, "")) }
		a := model.Alert{
			Labels: model.LabelSet{"alertname": "AvaxL1ValidatorBalanceLow", "severity": "page", "chain": "X", "validation_id": model.LabelValue(fmt.Sprint("v", i))},
			Annotations: model.LabelSet{
				"summary": label(
					fmt.Sprintf(text, i),
				), "description": label("It pays 0.1 AVAX an hour. " + fmt.Sprintf(text, i)), "action": label("Top it up. " + fmt.Sprintf(text, i)),
				"impact": label("It stops to validate. " + fmt.Sprintf(text, i)), "inhibited_by": label("X: halted. " + fmt.Sprintf(text, i)), "runbook_url": "https://runbooks.example/AvaxL1ValidatorBalanceLow.md",
			},
			StartsAt: time.Now(), GeneratorURL: "http://exporter.example/alerts#AvaxL1ValidatorBalanceLow",
		}
		if n == 1 {
			a.Labels["node"] = "alpha"
		}
		all = append(all, a)
	}
	return all
}

// message is what a person reads: the first line, and the rest with its markup.
type message struct{ first, rest string }

// limits check a request against the limits of its service, and return what arrives.
var limits = map[string]func(r recording) (message, error){
	"telegram": func(r recording) (m message, err error) { // https://core.telegram.org/bots/api#sendmessage and #html-style
		var body struct {
			Text string `json:"text"`
			Mode string `json:"parse_mode"`
		}
		if err := json.Unmarshal(r.Body, &body); err != nil || body.Mode != "HTML" {
			return m, fmt.Errorf("%s: %w", r.Body, err)
		}
		plain := regexp.MustCompile(`</?b>|<a href="https?://[^"<>]*">|</a>`).ReplaceAllString(body.Text, "")
		if strings.ContainsAny(plain, "<>") || strings.Contains(body.Text, "could not be sent") ||
			regexp.MustCompile(`&(#\d+|[a-z]+)?[^#a-z\d;]`).MatchString(plain) {
			return m, fmt.Errorf("not valid HTML: %s", body.Text)
		}
		if n := len(utf16.Encode([]rune(html.UnescapeString(plain)))); n > 4096 || n == 0 {
			return m, fmt.Errorf("%d characters", n)
		}
		first, rest, _ := strings.Cut(html.UnescapeString(plain), "\n")
		return message{first, rest + body.Text}, nil
	},
	"slack": func(r recording) (m message, err error) { // https://docs.slack.dev/messaging/formatting-message-text and /reference/messaging/attachments
		var body struct {
			Attachments []struct{ Title, Text, Fallback, Color string } `json:"attachments"`
		}
		if err := json.Unmarshal(r.Body, &body); err != nil || len(body.Attachments) != 1 {
			return m, fmt.Errorf("%s: %w", r.Body, err)
		}
		a := body.Attachments[0]
		for _, text := range []string{a.Title, a.Fallback, regexp.MustCompile(`<https?://[^<>|]*\|[^<>|]*>`).ReplaceAllString(a.Text, "")} {
			if strings.ContainsAny(text, "<>&") {
				return m, fmt.Errorf("not escaped: %s", text)
			}
		}
		if utf8.RuneCountInString(a.Text) > 3000 || a.Title != a.Fallback || a.Color != "danger" && a.Color != "good" {
			return m, fmt.Errorf("%d characters, color %s: %s", utf8.RuneCountInString(a.Text), a.Color, a.Fallback)
		}
		return message{a.Title, a.Text}, nil
	},
	"discord": func(r recording) (m message, err error) { // https://docs.discord.com/developers/resources/message#embed-object-embed-limits
		var body struct {
			Content string
			Embeds  []struct{ Title, Description string } `json:"embeds"`
		}
		if err := json.Unmarshal(r.Body, &body); err != nil || len(body.Embeds) != 1 {
			return m, fmt.Errorf("%s: %w", r.Body, err)
		}
		e := body.Embeds[0]
		if t, d := utf8.RuneCountInString(e.Title), utf8.RuneCountInString(e.Description); t > 256 || t == 0 || d > 4096 || t+d > 6000 || body.Content != "" {
			return m, fmt.Errorf("%d and %d characters", t, d)
		}
		return message{e.Title, e.Description}, nil
	},
	"pagerduty": func(r recording) (m message, err error) { // https://developer.pagerduty.com/docs/send-alert-event
		var body struct {
			Action  string `json:"event_action"`
			Payload struct {
				Summary, Severity, Source string
				Details                   struct{ Firing, Resolved string } `json:"custom_details"`
			}
		}
		if err := json.Unmarshal(r.Body, &body); err != nil || len(r.Body) > 512<<10 {
			return m, fmt.Errorf("%d bytes: %w", len(r.Body), err)
		}
		p := body.Payload
		if n := utf8.RuneCountInString(p.Summary); n > 1024 || n == 0 || body.Action == "trigger" && p.Severity != "critical" ||
			p.Source == "" && body.Action == "trigger" {
			return m, fmt.Errorf("%s", r.Body)
		}
		return message{p.Summary, fmt.Sprint(p.Details.Firing, p.Details.Resolved)}, nil
	},
	"pushover": func(r recording) (m message, err error) { // https://pushover.net/api#limits
		for name, limit := range map[string]int{"message": 1024, "title": 250, "url": 512, "url_title": 100} {
			if n := utf8.RuneCountInString(r.Form.Get(name)); n > limit || n == 0 || strings.HasSuffix(r.Form.Get(name), "…") && name == "message" {
				return m, fmt.Errorf("%s has %d characters", name, n)
			}
		}
		return message{r.Form.Get("title"), r.Form.Get("message")}, nil
	},
	"teams": func(r recording) (m message, err error) { // 28 KiB
		var body struct {
			Attachments []struct {
				Content struct{ Body []struct{ Text string } } `json:"content"`
			} `json:"attachments"`
		}
		if err := json.Unmarshal(r.Body, &body); err != nil || len(r.Body) > 28<<10 || len(body.Attachments) != 1 || len(body.Attachments[0].Content.Body) != 2 {
			return m, fmt.Errorf("%d bytes: %w", len(r.Body), err)
		}
		return message{body.Attachments[0].Content.Body[0].Text, body.Attachments[0].Content.Body[1].Text}, nil
	},
	"ntfy": func(r recording) (m message, err error) { // https://docs.ntfy.sh/publish/#limitations
		var body struct{ Topic, Title, Message, Click string }
		if err := json.Unmarshal(r.Body, &body); err != nil || body.Topic == "" || len(body.Message) > 4096 || body.Click != "http://exporter.example/alerts" {
			return m, fmt.Errorf("%d bytes: %s: %w", len(body.Message), r.Body, err)
		}
		return message{strings.TrimPrefix(body.Title, "* "), body.Message}, nil
	},
	"webhook": func(r recording) (m message, err error) {
		var body struct {
			Status string
			Alerts []struct{ Annotations map[string]string }
		}
		if err := json.Unmarshal(r.Body, &body); err != nil || len(body.Alerts) == 0 {
			return m, fmt.Errorf("%d bytes: %w", len(r.Body), err)
		}
		return message{}, nil // a program reads it
	},
	"email": readMessage,
}

// readMessage reads both parts of a mail.
func readMessage(r recording) (m message, err error) {
	got, err := mail.ReadMessage(strings.NewReader(r.raw))
	if err != nil {
		return m, err
	}
	if got.Header.Get("Bcc") != "" {
		return m, errors.New("a text has added a header")
	}
	if m.first, err = new(mime.WordDecoder).DecodeHeader(got.Header.Get("Subject")); err != nil {
		return m, err
	}
	_, parameters, err := mime.ParseMediaType(got.Header.Get("Content-Type"))
	if err != nil {
		return m, err
	}
	parts := map[string]string{}
	for reader := multipart.NewReader(got.Body, parameters["boundary"]); ; {
		part, err := reader.NextRawPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return m, err
		}
		text, err := io.ReadAll(quotedprintable.NewReader(part))
		if err != nil {
			return m, err
		}
		kind, _, _ := mime.ParseMediaType(part.Header.Get("Content-Type"))
		parts[kind] = string(text)
	}
	page := parts["text/html"]
	if !strings.Contains(page, "width=device-width") || strings.Contains(page, "<script") || strings.Contains(page, "ZgotmplZ") || strings.Contains(page, "`") ||
		strings.Count(page, `href="https://evil`) > 0 {
		return m, fmt.Errorf("HTML: %s", page)
	}
	if !strings.HasPrefix(parts["text/plain"], m.first[:min(len(m.first), 100)]) {
		return m, fmt.Errorf("plain text: %s", parts["text/plain"])
	}
	return message{m.first, parts["text/plain"]}, nil
}

// What arrives says in its first line how bad it is, what and how many. It is valid, and no service refuses or cuts it, whatever the alerts say.
func TestEveryServiceAcceptsEveryNotification(t *testing.T) {
	for _, kind := range notify.Kinds() {
		for _, n := range []int{1, 12, 200} {
			for style, text := range texts {
				t.Run(fmt.Sprint(kind, " ", n, " ", style), func(t *testing.T) {
					t.Parallel()
					got := send(t, kind, alertsOf(n, text))
					for i, status := range []string{"PAGE", "RESOLVED"} {
						m, err := limits[kind](got[i])
						if err != nil {
							t.Errorf("%s: %v", status, err)
							continue
						}
						if kind == "webhook" {
							continue
						}
						want := "[" + status
						if n > 1 {
							want += fmt.Sprintf(", %d alerts", n)
						}
						if want += "] "; style == "plain" {
							want += "X: L1 validator V"
						}
						if !strings.HasPrefix(m.first, want) || strings.ContainsAny(m.first, "\r\n\x00\x1b") {
							t.Errorf("first line %q, want %q", m.first, want)
						}
						if style == "plain" && kind != "pagerduty" && i == 0 && !strings.Contains(m.rest, "Top it up. X: L1 validator V") {
							t.Errorf("no action: %s", m.rest)
						}
						if style == "plain" && kind != "pagerduty" && i == 0 && n > 1 != strings.Contains(m.rest, "Action for X: ") {
							t.Errorf("not whose action: %s", m.rest)
						}
						if n > 10 && !strings.Contains(m.rest, fmt.Sprintf("and %d more", n-10)) {
							t.Errorf("not the number of the others: %s", m.rest)
						}
						if i == 1 && !strings.Contains(m.rest, "Lasted 30m") {
							t.Errorf("not how long it lasted: %s", m.rest)
						}
						if style == "plain" && i == 1 && !strings.Contains(m.rest, "Now: X: halted") {
							t.Errorf("not what inhibits it: %s", m.rest)
						}
						if strings.Contains(m.first+m.rest, "`") {
							t.Errorf("raw backticks: %s", m.first+m.rest)
						}
						if all := m.first + m.rest; kind != "pagerduty" && kind != "email" &&
							regexp.MustCompile("\\[Runbook\\]\\(https[:：]//evil|://evil|\\*b\\*|_i_|~s~|\\|\\|spoiler|@everyone|@here|<!|<@|<https://evil|\u202e|\x1b").MatchString(all) {
							t.Errorf("markup of a node: %s", all)
						}
					}
				})
			}
		}
	}
}

// A link silences what its text says: “Silence only this” has each label of the only alert in full, “Silence NODE” the node in full. A link that would be
// too long is left out.
func TestLinksSilenceWhatTheySay(t *testing.T) {
	long := "node" + strings.Repeat("-and-more", 10)
	alert := func(more ...string) model.Alert {
		a := alertsOf(12, texts["plain"])[0]
		a.Labels["job"], a.Labels["instance"], a.Labels["cluster"], a.Labels["owner"] = "avax-exporter", "exporter:9865", "home", "acme"
		for pair := range slices.Chunk(more, 2) {
			a.Labels[model.LabelName(pair[0])] = model.LabelValue(pair[1])
		}
		return a
	}
	const common, rest = `alertname="AvaxL1ValidatorBalanceLow",chain="X",`, `owner="acme",severity="page",validation_id="v0"`
	link := regexp.MustCompile(`http://exporter\.example/alerts\?silence=([^#]*)#silences`)
	for name, test := range map[string]struct {
		alerts []model.Alert
		want   []string
	}{
		"one":            {[]model.Alert{alert()}, []string{common + rest}},
		"spaces":         {[]model.Alert{alert("check", `disk "a" & (b) + c`)}, []string{common + `check="disk \"a\" & (b) + c",` + rest}},
		"own cluster":    {[]model.Alert{alert("cluster", "away")}, []string{common + `cluster="away",` + rest}},
		"long node":      {[]model.Alert{alert("node", long)}, []string{common + `node="` + long + `",` + rest, long}},
		"group":          {[]model.Alert{alert("node", long), alert("node", long, "validation_id", "v1")}, []string{long}},
		"group, no node": {[]model.Alert{alert(), alert("validation_id", "v1")}, nil},
		"too long":       {[]model.Alert{alert("node", strings.Repeat("n", 700))}, nil},
	} {
		for _, kind := range []string{"telegram", "slack", "discord", "teams", "email", "pushover"} {
			o, requests := simulated(t, kind)
			o.ExternalLabels = map[string]string{"cluster": "home"}
			must.Do(t, notify.Send(t.Context(), o, test.alerts...))
			r := <-requests
			text := fmt.Sprint(string(r.Body), r.Form)
			if kind == "email" {
				text = must.Get(limits[kind](r))(t).rest
			}
			var got []string
			for _, found := range link.FindAllStringSubmatch(html.UnescapeString(strings.ReplaceAll(text, `\u0026`, "&")), -1) {
				got = append(got, must.Get(url.QueryUnescape(found[1]))(t))
			}
			want := test.want
			if kind == "pushover" && len(want) > 1 { // it has one link
				want = want[:1]
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s, %s: silences %q, want %q", kind, name, got, want)
			}
		}
	}
}

// send sends alerts, and then their end, and returns the two requests.
func send(t *testing.T, kind string, alerts []model.Alert) []recording {
	t.Helper()
	o, requests := simulated(t, kind)
	must.Do(t, notify.Send(t.Context(), o, alerts...))
	for i := range alerts {
		alerts[i].StartsAt, alerts[i].EndsAt = time.Now().Add(-30*time.Minute), time.Now()
	}
	must.Do(t, notify.Send(t.Context(), o, alerts...))
	return []recording{<-requests, <-requests}
}
