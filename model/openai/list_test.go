package openai_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/model/openai"
)

type listing interface {
	List(ctx context.Context) ([]model.Info, error)
	Ask(ctx context.Context, path string) error
}

func lister(t *testing.T, o *openai.Options) listing {
	t.Helper()
	m, err := openai.New("none", o)
	if err != nil {
		t.Fatal(err)
	}
	return m.(listing)
}

// The lists of the servers that speak the API, each with its own field for the context.
func TestList(t *testing.T) {
	for name, tt := range map[string]struct {
		body string
		want []model.Info
	}{
		"openai":   {`{"object":"list","data":[{"id":"a","object":"model"},{"id":"b"}]}`, []model.Info{{Model: "a"}, {Model: "b"}}},
		"vllm":     {`{"data":[{"id":"a","max_model_len":32768}]}`, []model.Info{{Model: "a", Context: 32768}}},
		"groq":     {`{"data":[{"id":"a","context_window":131072}]}`, []model.Info{{Model: "a", Context: 131072}}},
		"together": {`[{"id":"a","context_length":4096,"pricing":{"input":1}}]`, []model.Info{{Model: "a", Context: 4096}}},
		"none":     {`{"data":[]}`, nil},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet || r.URL.Path != "/v1/models" || r.Header.Get("Authorization") != "Bearer made-up" || r.Header.Get("X-Team") != "blue" {
				t.Errorf("%s: %s %s %v", name, r.Method, r.URL, r.Header)
			}
			_, _ = io.WriteString(w, tt.body)
		}))
		list, err := lister(t, &openai.Options{BaseURL: s.URL + "/v1", APIKey: "made-up", Provider: name, Header: http.Header{"X-Team": {"blue"}}}).List(t.Context())
		s.Close()
		if err != nil || len(list) != len(tt.want) {
			t.Errorf("%s: %+v, %v", name, list, err)
			continue
		}
		for i, w := range tt.want {
			if list[i].Provider != name || list[i].Model != w.Model || list[i].Context != w.Context {
				t.Errorf("%s: %+v, want %+v", name, list[i], w)
			}
		}
	}
}

func TestListFails(t *testing.T) {
	for _, tt := range []struct {
		status     int
		kind, body string
		want       model.ErrorKind
	}{
		{401, "application/json", `{"error":{"message":"bad made-up-key"}}`, model.ErrorAuth},
		{200, "text/html", `<html><title>Log in</title></html>`, model.ErrorMalformed},
		{200, "application/json", `{"data":`, model.ErrorMalformed},
		{302, "", "", model.ErrorNotFound},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", tt.kind)
			w.Header().Set("Location", "http://127.0.0.1:1/elsewhere")
			w.WriteHeader(tt.status)
			_, _ = io.WriteString(w, tt.body)
		}))
		m := lister(t, &openai.Options{BaseURL: s.URL + "/v1", APIKey: "made-up-key"})
		_, err := m.List(t.Context())
		asked := m.Ask(t.Context(), "key")
		s.Close()
		e, ok := errors.AsType[*model.Error](err)
		if !ok || e.Kind != tt.want || strings.Contains(err.Error(), "made-up-key") {
			t.Errorf("%d: %v", tt.status, err)
		}
		if tt.status != 200 && asked == nil {
			t.Errorf("%d: nothing is complained about", tt.status)
		}
	}
}
