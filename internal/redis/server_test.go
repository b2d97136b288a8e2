package redis

import (
	"bufio"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// fakeServer is a server that records the commands and sends the replies of a test. A reply is
// written unchanged; "" closes the connection.
type fakeServer struct {
	addr   string
	answer func(command []string) string

	mu       sync.Mutex
	conns    int
	commands []string // commands with spaces between
}

// hangUp at the end of an answer closes the connection.
const hangUp = "(hang up)"

func serve(t testing.TB, answer func([]string) string) *fakeServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &fakeServer{addr: l.Addr().String(), answer: answer}
	var wg sync.WaitGroup
	var mu sync.Mutex
	open := map[net.Conn]bool{}
	closing := false
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			if closing {
				c.Close()
			}
			open[c] = true
			mu.Unlock()
			wg.Go(func() { f.talk(c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		closing = true
		for c := range open {
			c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return f
}

func (f *fakeServer) talk(c net.Conn) {
	defer c.Close()
	f.mu.Lock()
	f.conns++
	f.mu.Unlock()
	r := bufio.NewReader(c)
	for {
		v, err := readReply(r, maxReply)
		if err != nil {
			return
		}
		list, _ := v.([]any)
		words := make([]string, len(list))
		for i := range list {
			words[i], _ = list[i].(string)
		}
		f.mu.Lock()
		f.commands = append(f.commands, strings.Join(words, " "))
		f.mu.Unlock()
		out := f.answer(words)
		if out == "" {
			return
		}
		out, last := strings.CutSuffix(out, hangUp)
		if _, err := c.Write([]byte(out)); err != nil || last {
			return
		}
	}
}

func (f *fakeServer) received() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.commands...)
}

func (f *fakeServer) connections() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.conns
}

// client is one of the server, closed with the test.
func (f *fakeServer) client(t testing.TB, change func(*Options)) *Client {
	t.Helper()
	o := Options{Addr: f.addr, Dial: 10 * time.Second, Timeout: 10 * time.Second}
	if change != nil {
		change(&o)
	}
	c := New(o)
	t.Cleanup(func() { c.Close() })
	return c
}

// okExcept greets and says OK to everything, but for what the map says by the first word.
func okExcept(answers map[string]string) func([]string) string {
	return func(command []string) string {
		if a, ok := answers[command[0]]; ok {
			return a
		}
		return "+OK\r\n"
	}
}

// serveHanging is a server that answers the command HANG when the test is over; asked is closed
// when it has come.
func serveHanging(t testing.TB) (f *fakeServer, asked <-chan struct{}) {
	t.Helper()
	came, over := make(chan struct{}), make(chan struct{})
	f = serve(t, func(command []string) string {
		if command[0] == "HANG" {
			close(came)
			<-over
		}
		return "+OK\r\n"
	})
	t.Cleanup(func() { close(over) }) // before the server waits for its connections
	return f, came
}
