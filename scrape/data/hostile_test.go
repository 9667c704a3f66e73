package data_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/hostile"
	"github.com/avax-exporter/avax-exporter/scrape"
)

func TestDecodingMemoryIsBoundedByAnswerSize(t *testing.T) {
	var questions []hostile.Question
	for _, c := range conversations {
		if c.fixture == "" {
			continue
		}
		questions = append(questions, hostile.Question{Name: c.op, Good: fixture(t, c.fixture), Ask: func(answer io.ReadCloser, maxBody int) error {
			u, err := scrape.New(scrape.Options{URL: "https://data.example.com", MaxBody: int64(maxBody), Transport: transport(func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: answer}, nil
			})})
			if err != nil {
				return err
			}
			_, err = c.ask(t.Context(), u)
			return err
		}})
	}
	hostile.Check(t, questions)
}
