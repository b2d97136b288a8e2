package egress

import (
	"context"
	"errors"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Many connections to one host query the name server once; later ones query it again.
func TestLookups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		a := newLookups(func(_ context.Context, host string) ([]netip.Addr, error) {
			asked.Add(1)
			time.Sleep(time.Second)
			if host == "nowhere.example" {
				return nil, errors.New("no such host")
			}
			return []netip.Addr{netip.MustParseAddr("192.0.2.7")}, nil
		})
		many := func(host string) (failed int32) {
			var work sync.WaitGroup
			var n atomic.Int32
			for range 100 {
				work.Go(func() {
					if addrs, err := a.resolve(t.Context(), host); err != nil || len(addrs) != 1 {
						n.Add(1)
					}
				})
			}
			work.Wait()
			return n.Load()
		}
		if failed := many("a.example"); failed > 0 || asked.Load() != 1 {
			t.Errorf("%d failed, and the server was asked %d times", failed, asked.Load())
		}
		time.Sleep(lookupTime / 2)
		if many("a.example"); asked.Load() != 1 {
			t.Errorf("soon after, the server was asked again")
		}
		time.Sleep(lookupTime)
		if many("a.example"); asked.Load() != 2 {
			t.Errorf("later, the server was asked %d times", asked.Load())
		}
		if failed := many("nowhere.example"); failed != 100 || asked.Load() != 3 {
			t.Errorf("%d failed, and the server was asked %d times", failed, asked.Load())
		}
		if many("nowhere.example"); asked.Load() != 4 {
			t.Error("an error was kept")
		}
	})
}

// A caller that leaves does not cancel the query of the others, and the number of kept answers is limited.
func TestLookupLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newLookups(func(ctx context.Context, _ string) ([]netip.Addr, error) {
			time.Sleep(time.Second)
			return []netip.Addr{netip.MustParseAddr("192.0.2.7")}, ctx.Err()
		})
		first, leave := context.WithCancel(t.Context())
		var work sync.WaitGroup
		work.Go(func() {
			if _, err := a.resolve(first, "a.example"); !errors.Is(err, context.Canceled) {
				t.Errorf("gone: %v", err)
			}
		})
		synctest.Wait()
		work.Go(func() {
			if _, err := a.resolve(t.Context(), "a.example"); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		leave()
		work.Wait()
		for i := range 3 * maxLookups {
			if _, err := a.resolve(t.Context(), strconv.Itoa(i)); err != nil {
				t.Fatal(err)
			}
		}
		if len(a.list) > maxLookups {
			t.Errorf("%d answers are kept", len(a.list))
		}
	})
}
