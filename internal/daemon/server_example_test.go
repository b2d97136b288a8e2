package daemon_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"

	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/daemon"
	"github.com/holdfast-dev/holdfast/internal/daemon/auth"
	"github.com/holdfast-dev/holdfast/internal/daemon/feed"
	"github.com/holdfast-dev/holdfast/internal/daemon/runs"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

// ExampleNew serves on a free port, checks that the server responds, and shuts it down.
func ExampleNew() {
	check := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	home, err := os.MkdirTemp("", "holdfast")
	check(err)
	defer os.RemoveAll(home)

	hub := feed.New(nil)
	sessions := session.New(memory.New(), &session.Options{AppendObserver: hub.WrapObserver(nil)})
	hub.Serve(sessions)
	defer hub.Close()
	all, err := runs.New(&runs.Options{
		Sessions: sessions, Hub: hub,
		Make: func(context.Context, runs.AgentRequest) (*runs.AgentParts, error) {
			return nil, fmt.Errorf("this example has no model")
		},
	})
	check(err)
	defer all.Close()
	door, err := auth.New(&auth.Options{Dir: home, Refuse: daemon.Refuse})
	check(err)
	defer door.Close()

	server, err := daemon.New(&daemon.Options{Sessions: sessions, Hub: hub, Runs: all, Auth: door, Env: &env.Env{}, Version: "1.0"})
	check(err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()

	for _, path := range []string{"/healthz", "/v1/sessions"} {
		response, err := http.Get("http://" + listener.Addr().String() + path)
		check(err)
		response.Body.Close()
		fmt.Println(path, response.StatusCode)
	}
	check(server.Shutdown(context.Background()))
	fmt.Println("served:", <-served)
	// Output:
	// /healthz 200
	// /v1/sessions 401
	// served: <nil>
}
