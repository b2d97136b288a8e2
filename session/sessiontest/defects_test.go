package sessiontest_test

import (
	"context"
	"iter"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/session/sessiontest"
)

// defect names the environment variable that makes TestDefectiveStore run.
const defect = "HOLDFAST_TEST_DEFECT"

// defectiveStore is the memory store with one fault. Only the overridden fields matter.
type defectiveStore struct {
	*memory.Store
	name string

	mu   sync.Mutex
	last map[string]session.Batch
}

// defects lists every fault and a subtest that must find it.
var defects = map[string]string{
	"ignores the expected head":     "append/expects_the_head",
	"refuses a retry":               "append/recognises_a_retry",
	"creates twice":                 "append/creates_once",
	"drops a record of a batch":     "append/batches_are_whole",
	"rewrites JSON":                 "append/exact_bytes",
	"ignores cancellation in reads": "read/cancelled",
	"reads one too few":             "read/ranges",
	"reads backwards forwards":      "read/ranges",
	"hands out its memory":          "append/keeps_no_memory_of_the_caller",
	"keeps metas back":              "meta/follows_from_the_records",
	"forgets questions":             "meta/counts_open_approvals",
	"lists who does not ask":        "list/open_approvals",
	"matches ids by pattern":        "ids/are_taken_literally",
	"repeats on the next page":      "list/pages_without_gaps",
	"lists oldest first":            "list/newest_first",
	"shows worktrees":               "list/filters",
	"never busy":                    "lease/one_holder",
	"repeats epochs":                "lease/steal",
	"does not fence":                "lease/fences_the_former_holder",
	"needs a lease for everything":  "lease/shared_records_need_no_lease",
	"deletes what forks need":       "delete/forks_keep_what_they_need",
	"deletes nothing":               "delete/is_gone",
	"erases nothing":                "erase/keeps_all_but_the_payloads",
	"erases too much":               "erase/keeps_all_but_the_payloads",
	"erases for anybody":            "erase/needs_the_lease",
	"keeps the first prompt":        "erase/what_lists_show_can_be_replaced",
	"forks of nothing":              "fork/missing_parent",
	"shows the trash":               "trash/is_left_out_of_lists",
	"folds case in filters":         "list/filters_compare_bytes",
	"forgets who owns with runs":    "list/filters_together",
	"lists who works for others":    "list/runs",
	"fences a retry":                "append/recognises_a_retry_after_a_takeover",
	"takes an empty batch":          "append/refuses_an_empty_batch",
	"watches on after the end":      "watch/ends_with_the_session",
}

// TestSuiteFindsDefects runs the suite on a store with each defect, in a separate process, and
// expects the named subtest to fail.
func TestSuiteFindsDefects(t *testing.T) {
	if os.Getenv(defect) != "" {
		t.Skip("this is the process with the defect; go test . runs it")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, subtest := range defects {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(exe, "-test.short", "-test.run", "^TestDefectiveStore$/"+strings.ReplaceAll(subtest, "/", "$/")+"$")
			cmd.Env = append(os.Environ(), defect+"="+name)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL: TestDefectiveStore/"+subtest) {
				t.Errorf("%s did not find it:\n%s", subtest, out)
			}
		})
	}
}

func TestDefectiveStore(t *testing.T) {
	name := os.Getenv(defect)
	if name == "" {
		t.Skip("run by TestSuiteFindsDefects: go test -run TestSuiteFindsDefects .")
	}
	sessiontest.Run(t, func(testing.TB) session.Store {
		return &defectiveStore{Store: memory.New(), name: name, last: map[string]session.Batch{}}
	}, sessiontest.Capabilities{})
}

func (b *defectiveStore) is(name string) bool { return b.name == name }

func (b *defectiveStore) Append(ctx context.Context, id string, batch session.Batch) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	p, _ := b.Store.List(ctx, session.Query{ID: id})
	exists := len(p.Sessions) > 0
	switch {
	case b.is("takes an empty batch") && len(batch.Records) == 0:
		return nil
	case b.is("fences a retry") && exists && batch.Epoch != 0:
		if l, err := b.Held(ctx, id); err != nil || l == nil || l.Epoch != batch.Epoch {
			return session.ErrFenced
		}
	case b.is("refuses a retry") && exists && batch.Expect < p.Sessions[0].Head:
		return session.ErrConflict
	case b.is("creates twice") && exists && batch.Delta.Opened != nil:
		return nil
	case b.is("ignores the expected head") && exists && batch.Delta.Opened == nil:
		if p.Sessions[0].Head != batch.Expect {
			return nil
		}
	case b.is("drops a record of a batch") && len(batch.Records) > 2:
		batch.Records = batch.Records[:len(batch.Records)-1]
	case b.is("rewrites JSON"):
		batch.Records = slices.Clone(batch.Records)
		for i := range batch.Records {
			batch.Records[i].Payload = []byte(strings.ReplaceAll(string(batch.Records[i].Payload), "1.10", "1.1"))
		}
	case b.is("hands out its memory"):
		b.last[id] = session.Batch{Records: slices.Clone(batch.Records)} // the records, but not their payloads
	case b.is("keeps the first prompt"):
		batch.Delta.Replaced = nil
	case b.is("keeps metas back"):
		batch.Delta.Patch = nil
	case b.is("forgets questions"):
		batch.Delta.OpenApprovals = max(batch.Delta.OpenApprovals, 0)
	case b.is("needs a lease for everything") && batch.Epoch == 0 && exists:
		return session.ErrFenced
	case b.is("does not fence") && exists:
		l, err := b.Store.Acquire(ctx, id, session.Lease{}, func(session.Lease) bool { return true })
		if err != nil {
			return err
		}
		batch.Epoch = l.Epoch
	case b.is("forks of nothing") && batch.Delta.Opened != nil && batch.Delta.Opened.Base != nil:
		return nil
	}
	return b.Store.Append(ctx, id, batch)
}

func (b *defectiveStore) Read(ctx context.Context, id string, r session.Range) iter.Seq2[session.Record, error] {
	switch {
	case b.is("ignores cancellation in reads"):
		ctx = context.WithoutCancel(ctx)
	case b.is("reads one too few") && r.Until != 0:
		r.Until--
	case b.is("reads backwards forwards"):
		r.Reverse = false
	}
	if !b.is("hands out its memory") {
		return b.Store.Read(ctx, id, r)
	}
	return func(yield func(session.Record, error) bool) {
		for rec, err := range b.Store.Read(ctx, id, r) {
			b.mu.Lock()
			for _, kept := range b.last[id].Records {
				if kept.Seq == rec.Seq {
					rec.Payload = kept.Payload
				}
			}
			b.mu.Unlock()
			if !yield(rec, err) {
				return
			}
		}
	}
}

func (b *defectiveStore) List(ctx context.Context, q session.Query) (session.Page, error) {
	asked := q
	switch {
	case b.is("shows worktrees"):
		q.Worktrees = true
	case b.is("shows the trash") && !q.OnlyTrash && !q.WithTrash:
		q.WithTrash = true
	case b.is("folds case in filters"):
		q.Project = strings.ToLower(q.Project)
	case b.is("forgets who owns with runs") && q.Run != "":
		q.Owner = ""
	case b.is("lists who works for others"):
		q.Unowned = false
	case b.is("lists who does not ask"):
		q.WithApprovals = false
	case b.is("matches ids by pattern") && strings.Contains(q.Tag, "_"):
		q.Tag = ""
	}
	p, err := b.Store.List(ctx, q)
	switch {
	case b.is("lists oldest first"):
		slices.Reverse(p.Sessions)
	case b.is("repeats on the next page") && asked.After != "" && len(p.Sessions) > 0:
		p.Sessions = append([]session.Meta{p.Sessions[0]}, p.Sessions...)
	}
	return p, err
}

func (b *defectiveStore) Acquire(ctx context.Context, id string, l session.Lease, steal func(session.Lease) bool) (session.Lease, error) {
	if b.is("never busy") {
		steal = func(session.Lease) bool { return true }
	}
	got, err := b.Store.Acquire(ctx, id, l, steal)
	if b.is("repeats epochs") {
		got.Epoch = 1
	}
	return got, err
}

func (b *defectiveStore) Delete(ctx context.Context, id string) error {
	switch {
	case b.is("deletes nothing"):
		return nil
	case b.is("deletes what forks need"):
		p, err := b.Store.List(ctx, session.Query{ID: id})
		if err != nil || len(p.Sessions) == 0 {
			return session.ErrNotFound
		}
		m := p.Sessions[0]
		forks, err := b.Store.List(ctx, session.Query{Parent: id})
		if err != nil {
			return err
		}
		for _, f := range forks.Sessions { // as if they had no parent
			f.Parent = ""
			if err := b.PutMeta(ctx, f); err != nil {
				return err
			}
		}
		return b.Store.Delete(ctx, m.ID)
	}
	return b.Store.Delete(ctx, id)
}

func (b *defectiveStore) Erase(ctx context.Context, id string, epoch int64, seqs []int64) error {
	switch {
	case b.is("erases nothing"):
		return nil
	case b.is("erases too much"):
		seqs = append(slices.Clone(seqs), seqs[0]+1)
	case b.is("erases for anybody"):
		l, err := b.Store.Acquire(ctx, id, session.Lease{}, func(session.Lease) bool { return true })
		if err != nil {
			return err
		}
		epoch = l.Epoch
	}
	return b.Store.Erase(ctx, id, epoch, seqs)
}

func (b *defectiveStore) Watch(ctx context.Context, id string, after int64) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) {
		for head, err := range b.Store.Watch(ctx, id, after) {
			if err != nil && b.is("watches on after the end") {
				err = ctx.Err()
			}
			if !yield(head, err) {
				return
			}
		}
	}
}
