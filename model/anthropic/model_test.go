package anthropic_test

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/model/anthropic"
	"github.com/holdfast-dev/holdfast/model/internal/modeltest"
	"github.com/holdfast-dev/holdfast/transcript"
)

func TestNew(t *testing.T) {
	price := &model.Price{Input: 1}
	m, err := anthropic.New("claude-haiku-4-5-20251001", &anthropic.Options{Price: price, Context: 7})
	if err != nil {
		t.Fatal(err)
	}
	price.Input = 2 // options are copied
	want := model.Info{
		Provider: "anthropic", Model: "claude-haiku-4-5-20251001", API: "anthropic-messages",
		Context: 7, MaxOutput: 64000, Price: &model.Price{Input: 1},
	}
	if diff := cmp.Diff(want, m.Info()); diff != "" {
		t.Error(diff)
	}
	m, err = anthropic.New("claude-of-tomorrow", nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(model.Info{Provider: "anthropic", Model: "claude-of-tomorrow", API: "anthropic-messages"}, m.Info()); diff != "" {
		t.Error(diff)
	}
	for _, tt := range []struct {
		name string
		o    *anthropic.Options
	}{
		{"", nil},
		{"x", &anthropic.Options{BaseURL: "ftp://127.0.0.1"}},
		{"x", &anthropic.Options{BaseURL: "127.0.0.1:8080"}},
		{"x", &anthropic.Options{APIKey: "a\nb"}},
	} {
		if _, err := anthropic.New(tt.name, tt.o); err == nil || !strings.HasPrefix(err.Error(), "anthropic: ") {
			t.Errorf("%q %+v: %v", tt.name, tt.o, err)
		}
	}
}

// Without a key nothing is sent to the provider.
func TestNoKey(t *testing.T) {
	m, err := anthropic.New("claude-haiku-4-5", &anthropic.Options{HTTPClient: &http.Client{Transport: refusing{t}}})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = modeltest.Ask(t, m, transcript.UserText("hi"))
	if e, ok := errors.AsType[*model.Error](err); !ok || e.Kind != model.ErrorAuth || !strings.Contains(e.Message, "hint: set ANTHROPIC_API_KEY") {
		t.Errorf("%v", err)
	}
}

type refusing struct{ t *testing.T }

func (r refusing) RoundTrip(req *http.Request) (*http.Response, error) {
	r.t.Errorf("a request to %s", req.URL)
	return nil, http.ErrServerClosed
}

// What is sent where, with which headers, is told by the options alone: the
// SDK's environment variables change nothing.
func TestRequest(t *testing.T) {
	for name, value := range map[string]string{
		"ANTHROPIC_API_KEY": "sk-environment", "ANTHROPIC_AUTH_TOKEN": "environment", "ANTHROPIC_BASE_URL": "http://127.0.0.1:1",
		"ANTHROPIC_CUSTOM_HEADERS": "X-Environment: yes", "ANTHROPIC_PROFILE": "environment", "ANTHROPIC_OPEN_TELEMETRY": "true",
		"ANTHROPIC_LOG": "debug",
	} {
		t.Setenv(name, value)
	}
	for _, tt := range []struct {
		model, path, key string
		header           map[string]string
	}{
		{"claude-haiku-4-5", "", modeltest.Key, map[string]string{"X-Api-Key": modeltest.Key, "Authorization": "", "Anthropic-Beta": ""}},
		{"claude-haiku-4-5", "/v1", " " + modeltest.Key + "\n", map[string]string{"X-Api-Key": modeltest.Key}},
		{"claude-haiku-4-5", "/v1/", "", map[string]string{"X-Api-Key": "", "Authorization": ""}},
		{"claude-sonnet-5-5", "/gateway/v1", "", map[string]string{"Anthropic-Beta": "thinking-binding-controls-2026-08-01"}},
	} {
		var got *http.Request
		url := modeltest.ServeFunc(t, func(w http.ResponseWriter, r *http.Request) {
			got = r
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write([]byte(firstEvents + restEvents))
		})
		m, err := anthropic.New(tt.model, &anthropic.Options{BaseURL: url + tt.path, APIKey: tt.key})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := modeltest.Ask(t, m, transcript.UserText("hi")); err != nil {
			t.Fatal(err)
		}
		path := strings.TrimSuffix(strings.TrimSuffix(tt.path, "/"), "/v1") + "/v1/messages"
		if got.Method != http.MethodPost || got.URL.Path != path || got.ContentLength <= 0 || len(got.TransferEncoding) > 0 {
			t.Errorf("%s %s, %d bytes, %v", got.Method, got.URL, got.ContentLength, got.TransferEncoding)
		}
		header := map[string]string{"Content-Type": "application/json", "Anthropic-Version": "2023-06-01", "X-Environment": "", "Traceparent": ""}
		maps.Copy(header, tt.header)
		for k, v := range header {
			if got.Header.Get(k) != v {
				t.Errorf("%s: %q, want %q", k, got.Header.Get(k), v)
			}
		}
	}
}

// A proxy is what HTTPClient says.
func TestHTTPClient(t *testing.T) {
	asked := ""
	proxy := modeltest.ServeFunc(t, func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.String()
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte(firstEvents + restEvents))
	})
	u, err := url.Parse(proxy)
	if err != nil {
		t.Fatal(err)
	}
	m, err := anthropic.New("claude-haiku-4-5", &anthropic.Options{
		BaseURL:    "http://model.invalid",
		HTTPClient: &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(u)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := modeltest.Ask(t, m, transcript.UserText("hi")); err != nil || asked != "http://model.invalid/v1/messages" {
		t.Errorf("%q, %v", asked, err)
	}
}
