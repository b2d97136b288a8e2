package redis

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

func confirmed(command []string) string {
	out := ""
	for i, channel := range command[1:] {
		out += encode([]any{strings.ToLower(command[0]), channel, int64(i + 1)})
	}
	return out
}

// A lost connection is reopened with all channels.
func TestSubscriber(t *testing.T) {
	var lost atomic.Bool
	f := serve(t, func(command []string) string {
		switch command[0] {
		case "SUBSCRIBE":
			return confirmed(command) + encode([]any{"message", command[1], "news"})
		case "UNSUBSCRIBE":
			if lost.CompareAndSwap(false, true) {
				return ""
			}
			return confirmed(command)
		}
		return "+OK\r\n"
	})
	s := f.client(t, nil).Subscriber()
	next := func(want string) {
		t.Helper()
		if got, err := s.Next(); got != want || err != nil {
			t.Fatalf("%q %v, want %q", got, err, want)
		}
	}
	s.Subscribe("a")
	next("a") // heard from now on
	next("a") // said
	s.Subscribe("b")
	next("b")
	next("b")
	s.Unsubscribe("b")
	if _, err := s.Next(); err == nil {
		t.Fatal("a lost connection is no error")
	}
	next("a")
	next("a")
	if want := []string{"HELLO 2", "SUBSCRIBE a", "SUBSCRIBE b", "UNSUBSCRIBE b", "HELLO 2", "SUBSCRIBE a"}; !slices.Equal(f.received(), want) {
		t.Errorf("%q", f.received())
	}
	done := make(chan error, 1)
	go func() {
		_, err := s.Next()
		done <- err
	}()
	s.Close()
	if err := <-done; !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	s.Subscribe("c")
	if _, err := s.Next(); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

// A client without the right to subscribe gets an error, and the connection stays open.
func TestSubscriberRefused(t *testing.T) {
	f := serve(t, okExcept(map[string]string{"SUBSCRIBE": "-NOPERM this user has no permissions\r\n" + encode([]any{"message", "x", "y"})}))
	s := f.client(t, nil).Subscriber()
	defer s.Close()
	s.Subscribe("x")
	if _, err := s.Next(); !HasCode(err, "NOPERM") {
		t.Error(err)
	}
	if got, err := s.Next(); got != "x" || err != nil || f.connections() != 1 {
		t.Error(got, err, f.connections())
	}
}

func TestSubscriberTakesNoLongMessage(t *testing.T) {
	f := serve(t, okExcept(map[string]string{"SUBSCRIBE": "*3\r\n$7\r\nmessage\r\n$1\r\nx\r\n$2000000\r\n"}))
	s := f.client(t, nil).Subscriber()
	defer s.Close()
	s.Subscribe("x")
	if _, err := s.Next(); !errors.Is(err, ErrProtocol) {
		t.Error(err)
	}
}
