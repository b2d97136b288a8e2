package redis_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/redis"
)

// Servers whose settings lose data are rejected, unless the URL accepts it.
func TestSettings(t *testing.T) {
	i := own(t)
	c := raw(t, i.url)
	for _, tt := range []struct {
		set    [2]string
		refuse map[string]error // by durability
	}{
		{[2]string{"appendonly", "yes"}, map[string]error{"": nil, "always": nil, "everysec": nil, "none": nil, "wait": session.ErrUnsupported}},
		{[2]string{"appendfsync", "everysec"}, map[string]error{"": session.ErrUnsupported, "always": session.ErrUnsupported, "everysec": nil, "none": nil}},
		{[2]string{"appendfsync", "no"}, map[string]error{"": session.ErrUnsupported, "everysec": session.ErrUnsupported, "none": nil}},
		{[2]string{"no-appendfsync-on-rewrite", "yes"}, map[string]error{"": session.ErrUnsupported, "everysec": session.ErrUnsupported, "none": nil}},
		{[2]string{"appendonly", "no"}, map[string]error{"": session.ErrUnsupported, "everysec": session.ErrUnsupported, "none": nil}},
		{[2]string{"maxmemory-policy", "allkeys-lru"}, map[string]error{"": session.ErrUnsupported, "none": session.ErrUnsupported}},
	} {
		reply, err := c.Do(ctx, "CONFIG", "GET", tt.set[0])
		was, _ := reply.([]any)
		if err != nil || len(was) != 2 {
			t.Fatal(was, err)
		}
		if err := c.do("CONFIG", "SET", tt.set[0], tt.set[1]); err != nil {
			t.Fatal(err)
		}
		for durability, want := range tt.refuse {
			u := i.url
			if durability != "" {
				u += "?durability=" + durability
			}
			s, err := redis.Open(ctx, u, nil)
			if !errors.Is(err, want) || err != nil && !strings.Contains(err.Error(), tt.set[0]) && durability != "wait" {
				t.Errorf("%s with durability %q: %v, want %v", tt.set, durability, err, want)
			}
			if err == nil {
				s.Close()
			}
		}
		if err := c.do("CONFIG", "SET", tt.set[0], was[1]); err != nil {
			t.Fatal(err)
		}
	}
}

// The server's settings are checked again when the server may be another one.
func TestSettingsAfterRestart(t *testing.T) {
	i := own(t)
	s := open(t, i.url)
	a := create(t, s, session.Opened{SessionID: "s"})
	i.kill()
	i.args = append(i.args, "--appendfsync", "no")
	i.start()
	if err := s.Append(ctx, "s", a.batch(a.note("x"))); !errors.Is(err, session.ErrUnsupported) {
		t.Errorf("append to a server that does not sync any more: %v", err)
	}
}

func TestReplica(t *testing.T) {
	i := own(t, "--replicaof", "127.0.0.1 1")
	if _, err := redis.Open(ctx, i.url, nil); !errors.Is(err, session.ErrReadOnly) || session.Hint(err) == "" {
		t.Error(err)
	}
}

// An account with no more rights than the hint names will do; one that may not look at
// the settings must say what it accepts; and no password is ever shown.
func TestRights(t *testing.T) {
	secret := "pass" + "w0rd-of-nobody"
	i := own(t, "--requirepass", secret)
	at := func(user string) string { return strings.Replace(i.url, "unix://", "unix://"+user+"@", 1) }
	c := raw(t, at(":"+secret))
	for _, acl := range [][]any{
		{"full", "~{holdfast:}*", "&{holdfast:}*", "+@read", "+@write", "+@scripting", "+@pubsub", "+info", "+time", "+config|get", "+bgrewriteaof", "-@admin", "+config|get", "+bgrewriteaof"},
		{"blind", "~*", "&*", "+@all", "-config"},
		{"reader", "~*", "&*", "+@read", "+@scripting", "+info", "+config|get"},
		{"deaf", "resetchannels", "~*", "+@all"},
	} {
		args := append([]any{"ACL", "SETUSER", acl[0], "on", ">" + secret}, acl[1:]...)
		if err := c.do(args...); err != nil {
			t.Fatal(acl, err)
		}
	}
	for _, tt := range []struct {
		user string
		want string
	}{
		{"", "NOAUTH"},
		{":" + secret + "x", "WRONGPASS"},
		{"full:" + secret, ""},
		{"blind:" + secret, "does not report its appendfsync setting"},
		{"blind:" + secret + "?durability=everysec", ""},
		{"reader:" + secret, ""},
		{"deaf:" + secret, ""},
	} {
		user, query, _ := strings.Cut(tt.user, "?")
		u := at(user)
		if user == "" {
			u = i.url
		}
		s, err := redis.Open(ctx, u+"?rewrite=off&"+query, nil)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || session.Hint(err) == "") {
			t.Errorf("%q: %v, want %q", user, err, tt.want)
		}
		if err != nil {
			if strings.Contains(err.Error()+session.Hint(err), secret) {
				t.Errorf("shows the password: %v", err)
			}
			continue
		}
		if strings.HasPrefix(user, "reader") {
			_, err := s.Acquire(ctx, "x", session.Lease{}, nil)
			if !errors.Is(err, session.ErrReadOnly) || session.Hint(err) == "" {
				t.Errorf("a lease for who may only read: %v", err)
			}
		} else {
			a := create(t, s, session.Opened{SessionID: "of-" + strings.SplitN(user, ":", 2)[0]})
			a.add(a.note("x"))
			check(t, s, a.id)
		}
		s.Close()
	}
}

func TestFormats(t *testing.T) {
	for name, tt := range map[string]struct {
		key, value string
		want       error
	}{
		"newer":        {"format", "holdfast redis store 2", session.ErrNewer},
		"much newer":   {"format", "holdfast redis store 17", session.ErrNewer},
		"foreign":      {"format", "something else", session.ErrCorrupt},
		"odd":          {"format", "holdfast redis store x", session.ErrCorrupt},
		"other keys":   {"jobs", "1", session.ErrCorrupt},
		"lost its key": {"epoch", "17", session.ErrCorrupt},
	} {
		u := newURL(t)
		if err := raw(t, u).do("SET", base(t, u)+tt.key, tt.value); err != nil {
			t.Fatal(err)
		}
		if _, err := redis.Open(ctx, u, nil); !errors.Is(err, tt.want) || session.Hint(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	u := newURL(t)
	if err := raw(t, u).do("SADD", base(t, u)+"format", "x"); err != nil {
		t.Fatal(err)
	}
	if _, err := redis.Open(ctx, u, nil); !errors.Is(err, session.ErrCorrupt) {
		t.Errorf("a set: %v", err)
	}
}

// The format key changes, or everything goes, under a store that is open.
func TestFormatChangesMeanwhile(t *testing.T) {
	s := fresh(t)
	a := create(t, s, session.Opened{SessionID: "s"})
	c, key := raw(t, s.url), base(t, s.url)+"format"
	b := a.batch(a.note("x"))
	if err := c.do("SET", key, "holdfast redis store 2"); err != nil {
		t.Fatal(err)
	}
	if err := s.Append(ctx, "s", b); !errors.Is(err, session.ErrNewer) {
		t.Errorf("a newer format: %v", err)
	}
	if err := c.do("DEL", key); err != nil {
		t.Fatal(err)
	}
	if err := s.Append(ctx, "s", b); !errors.Is(err, session.ErrPoisoned) || session.Hint(err) == "" {
		t.Errorf("no format: %v", err)
	}
	if err := c.do("SET", key, "holdfast redis store 1"); err != nil {
		t.Fatal(err)
	}
	if err := c.do("SCRIPT", "FLUSH"); err != nil {
		t.Fatal(err)
	}
	if err := s.Append(ctx, "s", b); err != nil {
		t.Errorf("after SCRIPT FLUSH: %v", err)
	}
	check(t, s, "s")
}

// Stores beside each other, whose prefixes begin or resemble one another.
func TestPrefixes(t *testing.T) {
	i := own(t)
	stores := map[string]*opened{}
	for _, prefix := range []string{"a", "a:", "ab", "a:session:", "A", "a.b", "a+b", "%25"} {
		s := open(t, i.url+"?prefix="+strings.ReplaceAll(prefix, "+", "%2B"))
		stores[prefix] = s
		a := create(t, s, session.Opened{SessionID: "s", Title: prefix})
		a.add(a.note(prefix))
	}
	for prefix, s := range stores {
		p, err := s.List(ctx, session.Query{})
		if err != nil || len(p.Sessions) != 1 || p.Sessions[0].Title != prefix {
			t.Errorf("%q lists %+v (%v)", prefix, p.Sessions, err)
		}
		check(t, s, "s")
		if err := s.Delete(ctx, "s"); err != nil {
			t.Error(err)
		}
	}
	left, err := raw(t, i.url).keys("*")
	for _, key := range left {
		if !strings.HasSuffix(key, "}format") && !strings.HasSuffix(key, "}epoch") {
			t.Errorf("%s is left behind", key)
		}
	}
	if err != nil || len(left) != 2*len(stores) {
		t.Errorf("%d keys are left (%v), want %d", len(left), err, 2*len(stores))
	}
}
