package egress_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"github.com/holdfast-dev/holdfast/internal/sandbox/egress"
)

func ExampleNew() {
	rules, err := egress.Compile(egress.Layer{Allow: []string{"*.example.com", "github.com:22", "localhost:4873"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	proxy, err := egress.New(rules, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") // in the sandbox's network namespace, else
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	session := &egress.Session{ID: "command 7"}
	served := make(chan error)
	go func() { served <- proxy.Serve(ctx, listener, session) }()

	client := http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: listener.Addr().String()})}}
	resp, err := client.Get("http://evil.example/")
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()
	fmt.Println(resp.Status, resp.Header.Get(egress.RefusedHeader))
	cancel()
	<-served
	for _, f := range session.Refusals() {
		fmt.Print(f.Text())
	}
	// Output:
	// 403 Forbidden evil.example:80
	// the sandbox refused evil.example:80: no entry names it (network.allowedDomains)
	// hint: to allow this, add "evil.example" to network.allowedDomains
}

func ExampleCheckEntry() {
	fmt.Println(egress.CheckEntry("https://api.example.com/v1"))
	// Output: "https://api.example.com/v1" is more than a host write the host, and a port if only one is meant: "api.example.com", "*.example.com:443", "10.0.0.0/8"
}

func ExampleMatch() {
	fmt.Println(egress.Match("*.example.com", "a.b.example.com", 443))
	fmt.Println(egress.Match("*.example.com", "example.com", 443))
	fmt.Println(egress.Match("github.com", "github.com", 22))
	// Output:
	// true
	// false
	// false
}
