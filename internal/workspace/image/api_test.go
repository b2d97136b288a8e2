package image

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
)

// get requests from the engine what the client under test does not.
func get(t testing.TB, path string) []byte {
	t.Helper()
	socket, ok := strings.CutPrefix(os.Getenv("HOLDFAST_TEST_DOCKER"), "unix://")
	if !ok {
		t.Skip("the engine is not at a socket")
	}
	c := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", socket)
		},
	}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://engine"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("%v, %s: %s", err, r.Status, b)
	}
	return b
}
