package sessiontest

import (
	"context"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

// Capabilities describes what a store can and cannot do. The zero value suits most stores.
type Capabilities struct {
	// Reopen opens a second client for the data in s while s stays open, as another process would
	// do. It is nil if that is not possible.
	Reopen func(t testing.TB, s session.Store) session.Store
	// FoldsCase is for a medium on which "A" and "a" are the same name: the second of two such ids
	// must then be rejected with ErrExists.
	FoldsCase bool
	// MaxPayload is the maximum size of a payload in bytes; with 0, 10 MiB is tested.
	MaxPayload int
	// Slow is for a store whose append takes milliseconds: logs are shorter and races have fewer
	// rounds. Nothing is left out.
	Slow bool
	// Corrupt damages record seq of session id on the medium of s, without using the store: its
	// payload, a digest, or all of it. It is nil if that is not possible.
	Corrupt func(t testing.TB, s session.Store, id string, seq int64)
	// Tear leaves on the medium of s what a crash in the middle of an append to session id leaves:
	// a part of a batch. It is nil if the storage engine prevents that.
	Tear func(t testing.TB, s session.Store, id string)
	// Index opens the search index of s and arranges, with t.Cleanup, for it to be closed. With it, Run
	// tests only this index. It is nil for a store that is a [session.Searcher] itself.
	Index func(t testing.TB, s session.Store) session.Searcher
}

// few returns n, or less for a slow store or a short test.
func (e *env) few(n, less int) int {
	if e.caps.Slow || testing.Short() {
		return less
	}
	return n
}

// Run runs the tests on stores that open returns. Every call of open must return a new, empty store
// and arrange, with t.Cleanup, for it to be closed.
func Run(t *testing.T, open func(t testing.TB) session.Store, caps Capabilities) {
	if caps.Index != nil {
		runSearch(t, open, caps)
		return
	}
	for _, c := range []struct {
		name string
		test func(*env)
	}{
		{"append/keeps order and content", testOrder},
		{"append/batches are whole", testBatch},
		{"append/expects the head", testCAS},
		{"append/recognises a retry", testRetry},
		{"append/recognises retries at once", testRetriesAtOnce},
		{"append/recognises a retry after a takeover", testRetryAfterTakeover},
		{"append/refuses an empty batch", testEmptyBatch},
		{"append/accepts erased records", testAppendErased},
		{"append/creates once", testCreate},
		{"append/needs a session", testMissing},
		{"append/big payload", testBigPayload},
		{"append/long log", testLongLog},
		{"append/exact bytes", testExactBytes},
		{"append/cancelled is all or nothing", testCancel},
		{"append/in doubt is looked up", testUnknownOutcome},
		{"append/times may run backwards", testSkew},
		{"append/keeps no memory of the caller", testAliasing},
		{"append/one of many wins each seq", testRace},
		{"append/one of many wins each takeover", testTakeoverRace},
		{"append/many sessions at once", testManySessions},
		{"meta/follows from the records", testMeta},
		{"meta/counts open approvals", testApprovals},
		{"meta/knows its run", testRun},
		{"meta/can be replaced", testPutMeta},
		{"meta/keeps any text", testMetaText},
		{"read/ranges", testRanges},
		{"read/stops on request", testStop},
		{"read/cancelled", testReadCancelled},
		{"read/while appending", testReadWhileAppending},
		{"read/never half a batch", testReadWhole},
		{"read/through a second client", testSecondClient},
		{"read/continues after a damaged record", testCorrupt},
		{"read/leaves out a torn tail", testTear},
		{"ids/are taken literally", testIDs},
		{"ids/prefixes", testIDPrefixes},
		{"ids/case", testCase},
		{"list/newest first", testListOrder},
		{"list/filters", testListFilters},
		{"list/open approvals", testListAsked},
		{"list/runs", testListRuns},
		{"list/pages without gaps", testListPages},
		{"list/foreign cursor", testListCursor},
		{"list/filters together", testListTogether},
		{"list/filters compare bytes", testListBytes},
		{"trash/is left out of lists", testTrash},
		{"trash/keeps a session as it is", testTrashSessions},
		{"lease/one holder", testLeaseBusy},
		{"lease/steal", testLeaseSteal},
		{"lease/renew and release", testLeaseRenew},
		{"lease/holder", testLeaseHeld},
		{"lease/fences the former holder", testLeaseFences},
		{"lease/shared records need no lease", testLeaseShared},
		{"lease/one of many acquires", testLeaseRace},
		{"lease/remaining time", testLeaseRemaining},
		{"lease/the former holder gives it back", testLeaseFormer},
		{"lease/independent of clocks", testLeaseClock},
		{"lease/takeover in the middle of appends", testTakeover},
		{"lease/epochs rise", testEpochs},
		{"fork/continues from its base", testFork},
		{"fork/missing parent", testForkMissing},
		{"fork/begins with more than one record", testForkCut},
		{"erase/keeps all but the payloads", testErase},
		{"erase/needs the lease", testEraseFenced},
		{"erase/missing session", testEraseMissing},
		{"erase/is seen by forks", testEraseFork},
		{"erase/is seen by a second client", testEraseSecondClient},
		{"erase/what lists show can be replaced", testErasePrompt},
		{"delete/is gone", testDelete},
		{"delete/forks keep what they need", testDeleteParent},
		{"delete/the last fork frees its parents", testDeleteLast},
		{"watch/existing head", testWatchThere},
		{"watch/every growth", testWatchGrowth},
		{"watch/second client", testWatchSecondClient},
		{"watch/ends with the session", testWatchDeleted},
		{"watch/ends with its context", testWatchCancelled},
		{"watch/ends with the store", testWatchClosed},
		{"watch/has room for many", testWatchMany},
		{"watch/misses nothing in a storm", testWatchStorm},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.test(&env{T: t, open: open, caps: caps, store: open(t)})
		})
	}
	caps.Index = func(_ testing.TB, s session.Store) session.Searcher {
		found, _ := session.As[session.Searcher](s)
		return found
	}
	runSearch(t, open, caps)
}

// env is one subtest: a store, and short methods for using it.
type env struct {
	*testing.T
	open  func(testing.TB) session.Store
	caps  Capabilities
	store session.Store
}

// clients returns the store and, if possible, a second client of its data.
func (e *env) clients() []session.Store {
	if e.caps.Reopen == nil {
		return []session.Store{e.store}
	}
	return []session.Store{e.store, e.caps.Reopen(e, e.store)}
}

func (e *env) ctx() context.Context { return e.Context() }

// epoch is the time of the first record.
var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// leaser returns the store's leases. It skips the subtest if there are none.
func (e *env) leaser() session.Leaser {
	e.Helper()
	l, ok := session.As[session.Leaser](e.store)
	if !ok {
		e.Skip("the store does not implement session.Leaser, which this test needs")
	}
	return l
}

func (e *env) eraser() session.Eraser {
	e.Helper()
	er, ok := session.As[session.Eraser](e.store)
	if !ok {
		e.Skip("the store does not implement session.Eraser, which this test needs")
	}
	return er
}

func (e *env) deleter() session.Deleter {
	e.Helper()
	d, ok := session.As[session.Deleter](e.store)
	if !ok {
		e.Skip("the store does not implement session.Deleter, which this test needs")
	}
	return d
}
