package oracle

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/internal/redis"
)

// redisServer records its commands, with names in upper case, and returns the answers of answer unchanged.
type redisServer struct {
	addr string

	mu       sync.Mutex
	commands [][]string
	hello    string // the answer to HELLO
	answer   func(command []string) string
}

func serveRedis(t *testing.T) *redisServer {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &redisServer{addr: l.Addr().String(), hello: "*0\r\n", answer: func([]string) string { return "+OK\r\n" }}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go s.talk(c)
		}
	}()
	t.Cleanup(func() { l.Close() })
	return s
}

func (s *redisServer) talk(c net.Conn) {
	defer c.Close()
	r := bufio.NewReader(c)
	number := func() (int, error) {
		line, err := r.ReadString('\n')
		if err != nil || len(line) < 2 {
			return 0, io.ErrUnexpectedEOF
		}
		return strconv.Atoi(strings.TrimSpace(line[1:]))
	}
	for {
		n, err := number()
		if err != nil || n < 1 {
			return
		}
		command := make([]string, n)
		for i := range command {
			size, err := number()
			if err != nil {
				return
			}
			b := make([]byte, size+2)
			if _, err := io.ReadFull(r, b); err != nil {
				return
			}
			command[i] = string(b[:size])
		}
		command[0] = strings.ToUpper(command[0])
		if command[0] == "HELLO" && len(command) > 2 {
			command[2] = strings.ToUpper(command[2]) // AUTH
		}
		s.mu.Lock()
		s.commands = append(s.commands, command)
		out := s.hello
		if command[0] != "HELLO" {
			out = s.answer(command)
		}
		s.mu.Unlock()
		if _, err := c.Write([]byte(out)); err != nil {
			return
		}
	}
}

// take returns the commands since the last call.
func (s *redisServer) take() [][]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	commands := s.commands
	s.commands = nil
	return commands
}

func (s *redisServer) answers(f func([]string) string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = f
}

// both returns the clients, with the settings of session/redis.
func (s *redisServer) both(t *testing.T, user, password string, db int) (*redis.Client, *goredis.Client) {
	holdfast := redis.New(redis.Options{Addr: s.addr, User: user, Password: password, Database: db, Timeout: 10 * time.Second})
	official := goredis.NewClient(&goredis.Options{
		Addr: s.addr, Username: user, Password: password, DB: db, Protocol: 2, DisableIdentity: true, MaxRetries: -1,
		ContextTimeoutEnabled: true, MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	t.Cleanup(func() { holdfast.Close(); official.Close() })
	return holdfast, official
}

// Both clients greet a server alike, also an old one.
func TestGreetingLikeGoRedis(t *testing.T) {
	s := serveRedis(t)
	for _, hello := range []string{"*0\r\n", "-ERR unknown command 'HELLO'\r\n"} {
		s.mu.Lock()
		s.hello = hello
		s.mu.Unlock()
		for _, who := range []struct{ user, password string }{{"", ""}, {"", "made-up"}, {"u", "made-up"}} {
			for _, db := range []int{0, 3} {
				holdfast, official := s.both(t, who.user, who.password, db)
				if _, err := holdfast.Do(t.Context(), "PING"); err != nil {
					t.Fatal(err)
				}
				got := s.take()
				if err := official.Ping(t.Context()).Err(); err != nil {
					t.Fatal(err)
				}
				if want := s.take(); !reflect.DeepEqual(got, want) {
					t.Errorf("%+v, database %d: holdfast %q, official %q", who, db, got, want)
				}
			}
		}
	}
}

// Both clients send the same bytes for the same calls.
func TestCommandsLikeGoRedis(t *testing.T) {
	s := serveRedis(t)
	known := false
	s.answers(func(command []string) string {
		if command[0] == "EVALSHA" && !known {
			return "-NOSCRIPT No matching script. Please use EVAL.\r\n"
		}
		return "*0\r\n"
	})
	holdfast, official := s.both(t, "", "", 0)
	ctx := t.Context()
	_, _ = holdfast.Do(ctx, "PING")
	_ = official.Do(ctx, "PING")
	s.take()
	argument := rapid.OneOf(
		rapid.Map(rapid.String(), func(v string) any { return v }), rapid.Map(rapid.SliceOf(rapid.Byte()), func(v []byte) any { return v }),
		rapid.Map(rapid.Int(), func(v int) any { return v }), rapid.Map(rapid.Int64(), func(v int64) any { return v }),
		rapid.Map(rapid.Uint64(), func(v uint64) any { return v }), rapid.Map(rapid.Bool(), func(v bool) any { return v }),
	)
	rapid.Check(t, func(rt *rapid.T) {
		args := rapid.SliceOfN(argument, 0, 5).Draw(rt, "arguments")
		source := rapid.String().Draw(rt, "script")
		known = rapid.Bool().Draw(rt, "known")
		command := append([]any{"XADD"}, args...)

		_, _ = holdfast.Do(ctx, command...)
		_, _ = holdfast.Run(ctx, redis.NewScript(source), "key", args)
		_, _ = holdfast.Pipeline(ctx, command, redis.NewScript(source).Call(false, "key", args))
		got := s.take()

		_ = official.Do(ctx, command...)
		_ = goredis.NewScript(source).Run(ctx, official, []string{"key"}, args...)
		pipe := official.Pipeline()
		_ = pipe.Do(ctx, command...)
		_ = goredis.NewScript(source).EvalSha(ctx, pipe, []string{"key"}, args...)
		_, _ = pipe.Exec(ctx)

		// go-redis has separate connections for pipelines.
		want := slices.DeleteFunc(s.take(), func(c []string) bool { return c[0] == "HELLO" })
		if !reflect.DeepEqual(got, want) {
			rt.Fatalf("holdfast %q\ntheirs %q", got, want)
		}
	})
}

// respValue draws an answer as a server encodes it.
func respValue(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(rt *rapid.T) string {
		kinds := []string{"+", "-", ":", "$", "nil", "*", "nil list"}
		if depth == 0 {
			kinds = kinds[:5]
		}
		switch kind := rapid.SampledFrom(kinds).Draw(rt, "kind"); kind {
		case "+", "-":
			return kind + rapid.StringMatching(`[A-Za-z0-9 ]{1,20}`).Draw(rt, "text") + "\r\n"
		case ":":
			return fmt.Sprintf(":%d\r\n", rapid.Int64().Draw(rt, "number"))
		case "$":
			b := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(rt, "bytes")
			return fmt.Sprintf("$%d\r\n%s\r\n", len(b), b)
		case "nil":
			return "$-1\r\n"
		case "nil list":
			return "*-1\r\n"
		}
		list := rapid.SliceOfN(respValue(depth-1), 0, 4).Draw(rt, "list")
		return fmt.Sprintf("*%d\r\n%s", len(list), strings.Join(list, ""))
	})
}

// plain converts results of go-redis to those of the redis client.
func plain(v any) any {
	switch v := v.(type) {
	case error:
		if errors.Is(v, goredis.Nil) {
			return nil
		}
		return redis.Error(v.Error())
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = plain(v[i])
		}
		return out
	}
	return v
}

// Both clients decode an answer alike.
func TestAnswersLikeGoRedis(t *testing.T) {
	s := serveRedis(t)
	holdfast, official := s.both(t, "", "", 0)
	ctx := context.Background()
	_, _ = holdfast.Do(ctx, "PING")
	_ = official.Do(ctx, "PING")
	rapid.Check(t, func(rt *rapid.T) {
		text := respValue(3).Draw(rt, "answer")
		s.answers(func([]string) string { return text })
		got, err := holdfast.Do(ctx, "GET")
		if err != nil {
			got = err
			if e, ok := errors.AsType[redis.Error](err); ok {
				got = e
			}
		}
		want, err := official.Do(ctx, "GET").Result()
		if err != nil {
			want = err
		}
		if !reflect.DeepEqual(got, plain(want)) {
			rt.Fatalf("%q: holdfast %#v, official %#v", text, got, plain(want))
		}
	})
}

// Both clients subscribe alike and receive the same messages.
func TestChannelsLikeGoRedis(t *testing.T) {
	s := serveRedis(t)
	s.answers(func(command []string) string {
		if command[0] == "SUBSCRIBE" {
			return "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nx\r\n"
		}
		return "+OK\r\n"
	})
	holdfast, official := s.both(t, "", "", 0)
	sub := holdfast.Subscriber()
	sub.Subscribe("c")
	for range 2 {
		if channel, err := sub.Next(); channel != "c" || err != nil {
			t.Fatal(channel, err)
		}
	}
	sub.Close()
	got := s.take()
	other := official.Subscribe(t.Context(), "c")
	defer other.Close()
	for range 2 {
		if _, err := other.Receive(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if want := s.take(); !reflect.DeepEqual(got, want) {
		t.Errorf("holdfast %q, official %q", got, want)
	}
}
