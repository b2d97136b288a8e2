package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"
)

// downloadSize is the size of one measured download.
const downloadSize = 64 << 20

// BenchmarkDownload compares downloads through the proxy with direct ones over loopback, in turn. Client and
// server do as little as possible.
func BenchmarkDownload(b *testing.B) {
	n := newFakeNetwork(b)
	server := serveBytes(b)
	n.name("allowed.test", allowedIP)
	n.route(allowedIP+":80", server)
	n.route(allowedIP+":8443", server)
	r := n.proxy(nil, allow("allowed.test"))
	direct := func() net.Conn {
		c, err := net.Dial("tcp", server)
		if err != nil {
			b.Fatal(err)
		}
		io.WriteString(c, "\x01GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n")
		return c
	}
	connect := func() net.Conn {
		p := r.tunnel(b, "allowed.test:8443")
		p.SetDeadline(time.Time{})
		p.send("\x01GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n") // not HTTP, so that it passes unchanged
		return p.Conn
	}
	plain := func() net.Conn {
		p := r.connect(b)
		p.SetDeadline(time.Time{})
		p.send("GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n")
		return p.Conn
	}
	rates := newRates(b, "direct", "CONNECT", "HTTP")
	b.SetBytes(downloadSize * 3)
	for b.Loop() {
		rates.round(func(kind string) float64 {
			start := time.Now()
			drain(b, map[string]func() net.Conn{"direct": direct, "CONNECT": connect, "HTTP": plain}[kind]())
			return downloadSize / time.Since(start).Seconds()
		})
	}
	rates.report()
}

// rates are the bytes per second of several kinds of downloads, the direct one first.
type rates struct {
	b     *testing.B
	kinds []string
	all   map[string][]float64
}

func newRates(b *testing.B, kinds ...string) *rates {
	return &rates{b, kinds, map[string][]float64{}}
}

// round measures each kind once, and starts with another one each time.
func (r *rates) round(measure func(kind string) float64) {
	for i := range r.kinds {
		kind := r.kinds[(i+len(r.all[r.kinds[0]]))%len(r.kinds)]
		defer func(rate float64) { r.all[kind] = append(r.all[kind], rate) }(measure(kind))
	}
}

// report prints the medians of the ratios to the direct download of the same round.
func (r *rates) report() {
	base := r.all[r.kinds[0]]
	r.b.ReportMetric(median(base)/1e6, "direct-MB/s")
	for _, kind := range r.kinds[1:] {
		ratios := make([]float64, len(base))
		for i, rate := range r.all[kind] {
			ratios[i] = rate / base[i]
		}
		r.b.ReportMetric(median(ratios), kind+"/direct")
	}
}

func median(list []float64) float64 {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[len(sorted)/2]
}

// serveBytes answers each connection with a download.
func serveBytes(b *testing.B) string {
	l := listen(b)
	block := make([]byte, 256<<10)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				if _, err := peekHead(bufio.NewReaderSize(c, bufferSize)); err != nil {
					return
				}
				fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", downloadSize)
				for range downloadSize / len(block) {
					if _, err := c.Write(block); err != nil {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

func drain(b *testing.B, c net.Conn) {
	defer c.Close()
	buffer := make([]byte, 256<<10)
	for total := 0; total < downloadSize; {
		k, err := c.Read(buffer)
		if total += k; err != nil {
			b.Fatalf("%d bytes, then %v", total, err)
		}
	}
}

// BenchmarkTLSDownload is the same with TLS at both ends.
func BenchmarkTLSDownload(b *testing.B) {
	n := newFakeNetwork(b)
	block := make([]byte, 256<<10)
	_, secure := n.web(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for range downloadSize / len(block) {
			w.Write(block)
		}
	}))
	r := n.proxy(nil, allow("allowed.test"))
	config := &tls.Config{ServerName: "allowed.test", InsecureSkipVerify: true}
	get := func(c net.Conn) time.Duration {
		start := time.Now()
		s := tls.Client(c, config)
		defer s.Close()
		io.WriteString(s, "GET / HTTP/1.0\r\n\r\n")
		if k, err := io.Copy(io.Discard, s); k < downloadSize {
			b.Fatal(k, err)
		}
		return time.Since(start)
	}
	var direct, proxied time.Duration
	for b.Loop() {
		c, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", secure.Listener.Addr().String())
		if err != nil {
			b.Fatal(err)
		}
		d := get(c)
		p := get(r.tunnel(b, "allowed.test:443").Conn)
		if direct == 0 || d < direct {
			direct = d
		}
		if proxied == 0 || p < proxied {
			proxied = p
		}
	}
	b.ReportMetric(direct.Seconds()/proxied.Seconds(), "CONNECT/direct")
}

// BenchmarkRequest measures one small request over a kept connection.
func BenchmarkRequest(b *testing.B) {
	n := newFakeNetwork(b)
	plain, _ := n.web(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") }))
	r := n.proxy(nil, allow("allowed.test"))
	for name, get := range map[string]func() (*http.Response, error){
		"direct": func() (*http.Response, error) { return plain.Client().Get(plain.URL) },
		"proxy":  sync.OnceValue(func() *getter { return &getter{r.client(b)} })().get,
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				resp, err := get()
				if err != nil {
					b.Fatal(err)
				}
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		})
	}
}

type getter struct{ c *http.Client }

func (g *getter) get() (*http.Response, error) { return g.c.Get("http://allowed.test/") }
