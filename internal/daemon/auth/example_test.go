package auth_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/auth"
)

func ExampleNew() {
	dir, err := os.MkdirTemp("", "auth")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	a, err := auth.New(&auth.Options{Dir: dir})
	if err != nil {
		panic(err)
	}
	defer a.Close()
	secret, _, err := a.CreateToken(context.Background(), auth.Caller{Name: "ann", Method: "cli"}, api.Token{Name: "deploy", Scopes: []api.Scope{api.ScopeRead, api.ScopeRun}})
	if err != nil {
		panic(err)
	}

	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, _ := auth.CallerFrom(r.Context())
		fmt.Fprintf(w, "%s may run: %t, may approve: %t", c.Name, c.HasScope(api.ScopeRun), c.HasScope(api.ScopeApprove))
	})
	server := httptest.NewUnstartedServer(a.Handler(hello, "/healthz"))
	server.Config.ConnContext = a.ConnContext
	server.Start()
	defer server.Close()

	for _, token := range []string{secret, ""} {
		r, err := http.NewRequest(http.MethodGet, server.URL+"/v1/runs", http.NoBody)
		if err != nil {
			panic(err)
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		res, err := server.Client().Do(r)
		if err != nil {
			panic(err)
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		fmt.Printf("%d %s\n", res.StatusCode, bytes.TrimSpace(body))
	}
	// Output:
	// 200 deploy may run: true, may approve: false
	// 401 missing credential
	// hint: for a browser: holdfast daemon open; for a program: holdfast daemon token create, or use the unix socket
}
