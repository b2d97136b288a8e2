package engine

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestPing(t *testing.T) {
	for _, tt := range []struct {
		name, api string
		head, get int
		want      string // the negotiated version, or a part of the error
	}{
		{"of the same version", maxAPI, 200, 200, maxAPI},
		{"an older one", "1.44", 200, 200, "1.44"},
		{"the oldest", minAPI, 200, 200, minAPI},
		{"a newer one", "1.99", 200, 200, maxAPI},
		{"a much newer one", "2.0", 200, 200, maxAPI},
		{"too old", "1.40", 200, 200, "its API version is 1.40, at least 1.41 is required"},
		{"much too old", "1.9", 200, 200, "its API version is 1.9, at least 1.41 is required"},
		{"no version", "", 200, 200, maxAPI},
		{"a strange version", "new", 200, 200, `"new" is invalid`},
		{"three numbers", "1.44.1", 200, 200, "is invalid"},
		{"one that knows only GET", "1.44", 405, 200, "1.44"},
		{"one that is ill", "1.44", 500, 500, "it is ill"},
		{"something else", "", 404, 404, "it is ill"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			host := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/_ping" {
					t.Errorf("it is asked for %s", r.URL)
				}
				if tt.api != "" {
					w.Header().Set("Api-Version", tt.api)
				}
				code := tt.get
				if r.Method == http.MethodHead {
					code = tt.head
				}
				if w.WriteHeader(code); code >= 400 {
					_, _ = io.WriteString(w, "it is ill")
				}
			})
			e, err := Connect(t.Context(), host)
			if err != nil {
				if !errors.Is(err, ErrNoEngine) || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%v", err)
				}
				return
			}
			defer e.Close()
			if e.api.api != tt.want {
				t.Errorf("%s is spoken", e.api.api)
			}
		})
	}
}

func TestOlder(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{{"1.9", "1.41", true}, {"1.41", "1.9", false}, {"1.41", "1.41", false}, {"2.0", "1.41", false}, {"1.41", "2.0", true}} {
		if got := older(tt.a, tt.b); got != tt.want {
			t.Errorf("%s older than %s: %v", tt.a, tt.b, got)
		}
	}
}
