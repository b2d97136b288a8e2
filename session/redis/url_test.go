package redis

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/session"
)

const secret = "pass" + "w0rd-of-nobody"

func TestURL(t *testing.T) {
	plain := target{network: "tcp", addr: "h:6379", prefix: "holdfast:", durability: "always", rewrite: true, shown: "redis://h:6379"}
	with := func(change func(*target)) target {
		t := plain
		change(&t)
		return t
	}
	for raw, want := range map[string]target{
		"redis://h":      plain,
		"redis://h:6379": plain,
		"redis://h/0":    plain,
		"redis://h/":     plain,
		"redis://h/7":    with(func(t *target) { t.number, t.shown = 7, "redis://h:6379/7" }),
		"rediss://h":     with(func(t *target) { t.tls, t.shown = true, "rediss://h:6379" }),
		"redis://[::1]":  with(func(t *target) { t.addr, t.shown = "[::1]:6379", "redis://[::1]:6379" }),
		"redis://u:" + secret + "@h:1": with(func(t *target) {
			t.addr, t.user, t.password, t.shown = "h:1", "u", secret, "redis://u@h:1"
		}),
		"redis://:%40%2F@h": with(func(t *target) { t.password = "@/" }),
		"redis://h?prefix=a%3A&durability=wait&rewrite=off": with(func(t *target) {
			t.prefix, t.durability, t.rewrite = "a:", "wait", false
		}),
		"unix:///run/r.sock?db=2": with(func(t *target) {
			t.network, t.addr, t.number, t.shown = "unix", "/run/r.sock", 2, "unix:///run/r.sock?db=2"
		}),
	} {
		if got, err := parseURL(raw); err != nil || got != want {
			t.Errorf("%s: %+v %v, want %+v", raw, got, err, want)
		}
	}
}

func TestBadURL(t *testing.T) {
	for _, raw := range []string{
		"", "redis", "redis:", "redis:h", "redis://", "http://h", "postgres://h", "redis://h:0", "redis://h:x", "redis://h:70000",
		"redis://" + secret + "@h", "redis://h/x", "redis://h/-1", "redis://h/01", "redis://h/0/1", "redis://h#f", "redis://h?x=1", "redis://h?db=1", "redis://h?prefix=",
		"redis://h?prefix=a*", "redis://h?prefix=a{b}", "redis://h?prefix=a&prefix=b", "redis://h?durability=yes", "redis://h?rewrite=no",
		"redis://h?prefix=" + strings.Repeat("x", 65), "redis://h?prefix=%C3%A9", "redis://h?prefix=a%20b", "redis://h?a=%zz", "unix://h/x", "unix:x", "unix:///",
		"redis://u:" + secret + "#x@h", "redis://u:" + secret + "/x@h", "redis://u:" + secret + "?x@h", "redis://u:" + secret + "%zz@h",
		"redis://u:" + secret + "@h:x", "redis://u:" + secret + "@h?x=1", "redis://u:" + secret + "@", "redis://u:" + secret + " @h",
	} {
		_, err := Open(context.Background(), raw, nil)
		if !errors.Is(err, session.ErrInvalid) || session.Hint(err) == "" {
			t.Errorf("%s: %v", raw, err)
			continue
		}
		if strings.Contains(err.Error()+session.Hint(err), secret) {
			t.Errorf("%s shows the password: %v", raw, err)
		}
	}
}

func FuzzURL(f *testing.F) {
	f.Add("redis://u:p@h:1/2?prefix=a&durability=none")
	f.Add("unix:///x?db=3")
	f.Fuzz(func(t *testing.T, raw string) {
		got, err := parseURL(raw)
		if err != nil {
			if !errors.Is(err, session.ErrInvalid) {
				t.Errorf("%q: %v", raw, err)
			}
			return
		}
		if u, _ := url.Parse(raw); u == nil || checkPrefix(got.prefix) != nil || got.addr == "" || got.shown == "" {
			t.Errorf("%q is read as %+v", raw, got)
		}
	})
}
