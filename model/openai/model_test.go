package openai_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/model/internal/modeltest"
	"github.com/holdfast-dev/holdfast/model/openai"
	"github.com/holdfast-dev/holdfast/transcript"
)

func TestNew(t *testing.T) {
	price := &model.Price{Input: 1}
	m, err := openai.New("gpt-4o-mini", &openai.Options{Price: price, Context: 7})
	if err != nil {
		t.Fatal(err)
	}
	price.Input = 2 // options are copied
	want := model.Info{
		Provider: "openai", Model: "gpt-4o-mini", API: "openai-chat",
		Context: 7, MaxOutput: 16384, Price: &model.Price{Input: 1},
	}
	if diff := cmp.Diff(want, m.Info()); diff != "" {
		t.Error(diff)
	}
	// The same name on another server has no price.
	m, err = openai.New("gpt-4o-mini", &openai.Options{Provider: "ollama", BaseURL: "http://127.0.0.1:11434/v1"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(model.Info{Provider: "ollama", Model: "gpt-4o-mini", API: "openai-chat"}, m.Info()); diff != "" {
		t.Error(diff)
	}
	if _, err := openai.New("gpt-x", nil); err != nil {
		t.Error(err)
	}
	for _, tt := range []struct {
		name string
		o    *openai.Options
	}{
		{"", nil},
		{"x", &openai.Options{BaseURL: "ftp://127.0.0.1"}},
		{"x", &openai.Options{BaseURL: "127.0.0.1:8080"}},
		{"x", &openai.Options{APIKey: "a\nb"}},
	} {
		if _, err := openai.New(tt.name, tt.o); err == nil || !strings.HasPrefix(err.Error(), "openai: ") {
			t.Errorf("%q %+v: %v", tt.name, tt.o, err)
		}
	}
}

// Without a key nothing is sent to OpenAI.
func TestNoKey(t *testing.T) {
	m, err := openai.New("gpt-5.1", &openai.Options{HTTPClient: &http.Client{Transport: refusing{t}}})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = modeltest.Ask(t, m, transcript.UserText("hi"))
	if e, ok := errors.AsType[*model.Error](err); !ok || e.Kind != model.ErrorAuth || !strings.Contains(e.Message, "hint: set OPENAI_API_KEY") {
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
		"OPENAI_API_KEY": "sk-environment", "OPENAI_ADMIN_KEY": "sk-environment", "OPENAI_BASE_URL": "http://127.0.0.1:1",
		"OPENAI_ORG_ID": "environment", "OPENAI_PROJECT_ID": "environment", "OPENAI_CUSTOM_HEADERS": "X-Environment: yes",
	} {
		t.Setenv(name, value)
	}
	for _, tt := range []struct{ path, key, authorization string }{
		{"/v1", modeltest.Key, "Bearer " + modeltest.Key},
		{"/v1/", " " + modeltest.Key + "\n", "Bearer " + modeltest.Key},
		{"/api/v1", "", ""},
		{"", "", ""},
	} {
		var got *http.Request
		url := modeltest.ServeFunc(t, func(w http.ResponseWriter, r *http.Request) {
			got = r
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write([]byte(firstChunks + restChunks))
		})
		m, err := openai.New("gpt-5.1", &openai.Options{BaseURL: url + tt.path, APIKey: tt.key})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := modeltest.Ask(t, m, transcript.UserText("hi")); err != nil {
			t.Fatal(err)
		}
		path := strings.TrimSuffix(tt.path, "/") + "/chat/completions"
		if got.Method != http.MethodPost || got.URL.Path != path || got.ContentLength <= 0 || len(got.TransferEncoding) > 0 {
			t.Errorf("%s %s, %d bytes, %v", got.Method, got.URL, got.ContentLength, got.TransferEncoding)
		}
		for k, v := range map[string]string{
			"Content-Type": "application/json", "Authorization": tt.authorization,
			"X-Environment": "", "OpenAI-Organization": "", "OpenAI-Project": "",
		} {
			if got.Header.Get(k) != v {
				t.Errorf("%s: %q, want %q", k, got.Header.Get(k), v)
			}
		}
	}
}
