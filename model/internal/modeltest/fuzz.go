package modeltest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Fuzz sends arbitrary bytes to an adapter as responses. open returns the adapter for an HTTP
// client. For any input, there must be exactly one end, and it must be possible to store an answer
// and send it back.
func Fuzz(f *testing.F, open func(client *http.Client) (model.Model, error)) {
	files, err := filepath.Glob("testdata/stream/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		_, b, _ = bytes.Cut(b, []byte(" --\n"))
		b, _, _ = bytes.Cut(b, []byte("\n-- "))
		f.Add(b, false)
		f.Add(b, true)
	}
	f.Fuzz(func(t *testing.T, body []byte, isJSON bool) {
		m, err := open(&http.Client{Transport: canned{body, isJSON}})
		if err != nil {
			t.Fatal(err)
		}
		ends := 0
		for e, err := range m.Stream(context.Background(), &model.Request{}) {
			var it transcript.Item
			if a, ok := e.(model.Answer); ok {
				it = a.Item
			} else if err == nil {
				continue
			}
			ends++
			var failure *model.Error
			if err != nil {
				if !errors.As(err, &failure) {
					t.Fatalf("%T %v", err, err)
				}
				if failure.Partial == nil {
					continue
				}
				it = *failure.Partial
			}
			item, err := it.Encode()
			if err != nil {
				t.Fatal(err)
			}
			var parsed transcript.Encoded
			if err := parsed.Parse(item.JSON); err != nil {
				t.Fatal(err)
			}
			if _, err := m.Encode(parsed); err != nil {
				t.Fatal(err)
			}
		}
		if ends != 1 {
			t.Fatalf("%d ends", ends)
		}
	})
}

// canned returns the same body for every request.
type canned struct {
	body   []byte
	isJSON bool
}

func (c canned) RoundTrip(*http.Request) (*http.Response, error) {
	header := http.Header{"Content-Type": {"text/event-stream"}}
	if c.isJSON {
		header.Set("Content-Type", "application/json")
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: header,
		Body: io.NopCloser(bufio.NewReader(bytes.NewReader(c.body))),
	}, nil
}
