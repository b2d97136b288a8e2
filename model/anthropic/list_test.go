package anthropic_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/model/anthropic"
)

// A list is gone on with until it ends.
func TestList(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/models" || r.URL.Query().Get("limit") != "1000" || r.Header.Get("X-Api-Key") != "made-up" || r.Header.Get("Anthropic-Version") == "" {
			t.Errorf("%s %v", r.URL, r.Header)
		}
		if after := r.URL.Query().Get("after_id"); after == "" {
			fmt.Fprint(w, `{"data":[{"id":"claude-sonnet-4-6"}],"has_more":true,"last_id":"claude-sonnet-4-6"}`)
		} else {
			fmt.Fprintf(w, `{"data":[{"id":"after-%s"}],"has_more":false,"last_id":"x"}`, after)
		}
	}))
	defer s.Close()
	m, err := anthropic.New("none", &anthropic.Options{BaseURL: s.URL, APIKey: "made-up"})
	if err != nil {
		t.Fatal(err)
	}
	lister := m.(interface {
		List(ctx context.Context) ([]model.Info, error)
	})
	list, err := lister.List(t.Context())
	if err != nil || len(list) != 2 || list[0].Model != "claude-sonnet-4-6" || list[0].Context == 0 || list[1].Model != "after-claude-sonnet-4-6" || list[1].Provider != "anthropic" {
		t.Errorf("%+v, %v", list, err)
	}
	s.Close()
	if _, err := lister.List(t.Context()); err == nil {
		t.Error("a server that is gone")
	}
}
