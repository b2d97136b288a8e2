package otelwire

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// answers is a collector that gives one answer after the other and then repeats the last one.
type answers struct {
	t    *testing.T
	list []answer
	at   []time.Duration // times of the requests
	from time.Time
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	if body, err := io.ReadAll(r.Body); err != nil || string(body) != "body" {
		a.t.Errorf("request %d has %q, %v", len(a.at), body, err)
	}
	list := a.list[min(len(a.at), len(a.list)-1)]
	a.at = append(a.at, time.Since(a.from))
	return list.response()
}

// answer is one answer of a collector.
type answer struct {
	status int
	body   string
	header []string
	date   time.Duration // relative to now, for Retry-After
	err    error
}

func (a answer) response() (*http.Response, error) {
	h := http.Header{}
	for i := 0; i < len(a.header); i += 2 {
		h.Set(a.header[i], a.header[i+1])
	}
	if a.date != 0 {
		h.Set("Retry-After", time.Now().Add(a.date).UTC().Format(http.TimeFormat))
	}
	if a.err != nil {
		return nil, a.err
	}
	status := strconv.Itoa(a.status) + " " + http.StatusText(a.status)
	return &http.Response{StatusCode: a.status, Status: status, Header: h, Body: io.NopCloser(strings.NewReader(a.body))}, nil
}

func says(status int, body string, header ...string) answer {
	return answer{status: status, body: body, header: header}
}

func breaks(err error) answer { return answer{err: err} }

type temporaryError struct{}

func (temporaryError) Error() string   { return "it passes" }
func (temporaryError) Temporary() bool { return true }

func TestPost(t *testing.T) {
	const forever = 24 * time.Hour
	busy, fine := says(http.StatusServiceUnavailable, "busy"), says(http.StatusOK, "")
	protobuf := []string{"Content-Type", protobufType}
	partial := func(n int64, text string) string {
		var m message // ExportTraceServiceResponse
		m.nested(1, func() {
			m.varint(1, uint64(n)) //nolint:gosec // it is not negative
			m.text(2, text)
		})
		return string(m.b)
	}
	for _, tt := range []struct {
		name    string
		within  time.Duration // deadline of the context
		list    []answer
		tries   int
		maxTime time.Duration // maximum duration
		want    string        // part of the error, or ""
	}{
		{"taken", forever, []answer{fine}, 1, 0, ""},
		{"taken with 202", forever, []answer{says(http.StatusAccepted, "thanks", "Content-Type", "text/plain")}, 1, 0, ""},
		{"busy once", forever, []answer{busy, fine}, 2, 8 * time.Second, ""},
		{"busy in all ways", forever, []answer{says(429, ""), says(502, ""), says(504, ""), fine}, 4, 40 * time.Second, ""},
		{"passing", forever, []answer{breaks(temporaryError{}), fine}, 2, 8 * time.Second, ""},
		{"always busy", forever, []answer{busy}, 0, time.Minute, "503 Service Unavailable: busy"},
		{"busy until time is up", 20 * time.Second, []answer{busy}, 0, 20 * time.Second, "busy"},
		{"asks for seconds", forever, []answer{says(429, "", "Retry-After", "40"), fine}, 2, 40 * time.Second, ""},
		{"asks for a date", forever, []answer{{status: 503, date: 50 * time.Second}, fine}, 2, 50 * time.Second, ""},
		{"asks for nonsense", forever, []answer{says(503, "", "Retry-After", "soon"), fine}, 2, 8 * time.Second, ""},
		{"asks for longer than there is", 10 * time.Second, []answer{says(429, "", "Retry-After", "11")}, 1, 0, "429"},
		{"asks for years", forever, []answer{says(429, "", "Retry-After", "99999999999999999999")}, 0, time.Minute, "429"},
		{"wrong", forever, []answer{says(400, "what? hush-hush is no key")}, 1, 0, "400 Bad Request: what? … is no key"},
		{"elsewhere", forever, []answer{says(307, "")}, 1, 0, "307"},
		{"broken", forever, []answer{breaks(errors.New("no route"))}, 1, 0, "no route"},
		{"in part", forever, []answer{says(200, partial(3, "too old: hush-hush"), protobuf...)}, 1, 0, "it rejected 3 spans: too old: …"},
		{"warns", forever, []answer{says(200, partial(0, "careful"), protobuf...)}, 1, 0, "it accepted all and warned: careful"},
		{"in part of nothing", forever, []answer{says(200, partial(0, ""), protobuf...)}, 1, 0, ""},
		{"junk", forever, []answer{says(200, "\xff", protobuf...)}, 1, 0, "cannot read its answer"},
		{"in part, JSON", forever, []answer{
			says(200, `{"partialSuccess":{"rejectedSpans":"3","errorMessage":"too old"}}`, "Content-Type", "application/json; charset=utf-8"),
		}, 1, 0, "it rejected 3 spans: too old"},
		{"all, JSON", forever, []answer{says(200, `{"partialSuccess":{"rejectedDataPoints":0}}`, "Content-Type", "application/json")}, 1, 0, ""},
		{"junk JSON", forever, []answer{says(200, `{`, "Content-Type", "application/json")}, 1, 0, "cannot read its answer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &answers{t: t, list: tt.list, from: time.Now()}
				ctx, cancel := context.WithTimeout(t.Context(), tt.within)
				defer cancel()
				p := NewPoster(&Target{
					URL: "http://c", Headers: map[string]string{"Authorization": "Basic hush-hush", "X": "a"}, Client: &http.Client{Transport: a},
				}, "spans")
				err := p.Post(ctx, []byte("body"))
				if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
					t.Errorf("got %v", err)
				}
				if tt.tries > 0 && len(a.at) != tt.tries {
					t.Errorf("%d requests", len(a.at))
				}
				if took := time.Since(a.from); took > tt.maxTime || tt.tries == 2 && took < 2*time.Second {
					t.Errorf("it took %v, requests at %v", took, a.at)
				}
			})
		})
	}
}

// A closed poster sends nothing.
func TestClosedPoster(t *testing.T) {
	a := &answers{t: t, list: []answer{says(http.StatusOK, "")}}
	p := NewPoster(&Target{URL: "http://c", Client: &http.Client{Transport: a}}, "spans")
	p.Close()
	if err := p.Post(t.Context(), []byte("body")); !errors.Is(err, errClosed) || len(a.at) != 0 {
		t.Errorf("%v, %d requests", err, len(a.at))
	}
}
