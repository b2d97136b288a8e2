// bare makes what our sandbox makes for a command, with the same system calls in the
// same order and nothing else: the limit of what a start in the sandbox can take on a
// machine. It serves as command spawner does, and knows three ways of its own.
//
//	bare FILTER    FILTER: the program for seccomp, as the kernel takes it
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <dirent.h>
#include <time.h>
#include <unistd.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/mount.h>
#include <linux/seccomp.h>

extern char **environ;

enum { WEAKER, NAMESPACES, LISTENER };

static int way;
static char dir[4096];
static struct sock_fprog filter;
static char *top[256];
static int tops, told[2], null;
static char users[64], groups[64];
static unsigned long long handled;
static char stack[1 << 16];

// must ends the child when a call of it fails.
static long must(long r, const char *what) {
	if (r < 0) {
		dprintf(2, "bare: %s: %s\n", what, strerror(errno));
		(void)!write(told[1], "n", 1);
		_exit(126);
	}
	return r;
}

#define CALL(nr, ...) must(syscall(nr, __VA_ARGS__), #nr)
#define CLONE (OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC)

static void put(int self, const char *file, const char *s) {
	int fd = must(openat(self, file, O_WRONLY | O_CLOEXEC), file);
	must(write(fd, s, strlen(s)), file);
	close(fd);
}

static void set(int fd, const char *path, int flags, unsigned long long attr, unsigned long long how) {
	struct mount_attr a = {.attr_set = attr, .propagation = how};
	CALL(SYS_mount_setattr, fd, path, flags, &a, sizeof a);
}

static void put_at(int fd, const char *path) { CALL(SYS_move_mount, fd, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH); }

// parents makes the folders on the way to a path below a fresh one.
static void parents(const char *path, const char *fresh) {
	char name[4096];
	size_t n = strlen(fresh);
	if (strncmp(path, fresh, n) || path[n] != '/')
		return;
	for (size_t i = n + 1; path[i]; i++)
		if (path[i + 1] == '/' || !path[i + 1]) {
			memcpy(name, path, i + 1);
			name[i + 1] = 0;
			mkdir(name, 0755);
		}
}

static void mounts(void) {
	const int own = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	int folder = CALL(SYS_open_tree, AT_FDCWD, dir, CLONE | AT_SYMLINK_NOFOLLOW | AT_RECURSIVE);
	set(folder, "", AT_EMPTY_PATH | AT_RECURSIVE, own, MS_PRIVATE);
	set(AT_FDCWD, "/", AT_RECURSIVE, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID, MS_PRIVATE);
	mode_t mask = umask(0);
	int fs = CALL(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC);
	CALL(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0);
	int root = CALL(SYS_fsmount, fs, FSMOUNT_CLOEXEC, own);
	must(mkdirat(root, "shm", 01777), "shm");
	int shm = CALL(SYS_open_tree, root, "shm", CLONE);
	must(mkdirat(root, "tmp", 01777), "tmp");
	int tmp = CALL(SYS_open_tree, root, "tmp", CLONE);
	int other = CALL(SYS_open_tree, root, "tmp", CLONE);
	put_at(root, "/dev/shm");
	put_at(shm, "/dev/shm");
	put_at(tmp, "/tmp");
	put_at(other, "/var/tmp");
	parents(dir, "/tmp");
	parents(dir, "/var/tmp");
	put_at(folder, dir);
	umask(mask);
	must(mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620"), "devpts");
	struct stat st;
	if (!lstat("/dev/ptmx", &st) && !S_ISLNK(st.st_mode))
		put_at(CALL(SYS_open_tree, AT_FDCWD, "/dev/pts/ptmx", CLONE), "/dev/ptmx");
	must(mount("proc", "/proc", "proc", MS_NOSUID | MS_NOEXEC | MS_NODEV | MS_RDONLY, NULL), "proc");
}

static void listener(void) {
	int s = must(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
	struct ifreq up = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	must(ioctl(s, SIOCSIFFLAGS, &up), "localhost");
	struct sockaddr_in a = {AF_INET, htons(3128), {htonl(INADDR_LOOPBACK)}};
	must(bind(s, (struct sockaddr *)&a, sizeof a), "bind");
	must(listen(s, 128), "listen");
}

static void privileges(void) {
	struct rlimit none = {0, 0};
	must(setrlimit(RLIMIT_CORE, &none), "limit");
	prctl(PR_SET_SECUREBITS, 0xef, 0, 0, 0);
	must(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0), "ambient");
	unsigned header[2] = {0x20080522, 0}, data[6] = {0};
	CALL(SYS_capset, header, data);
	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no new privileges");
	CALL(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter);
}

static void allow(int rules, const char *path, unsigned long long rights) {
	struct landlock_path_beneath_attr rule = {rights & handled, open(path, O_PATH | O_CLOEXEC)};
	struct stat st;
	if (rule.parent_fd < 0)
		return;
	if (!fstat(rule.parent_fd, &st) && !S_ISDIR(st.st_mode))
		rule.allowed_access &= ~(1ULL << 3);
	CALL(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

static void landlock(void) {
	enum { FILE_ = 1 << 2 | 1 << 1 | 1 << 14, READ = 1 | 1 << 2 | 1 << 3, WRITE = 0x7fff & ~(1 << 6 | 1 << 11) };
	static const char *devices[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"};
	struct landlock_ruleset_attr attr = {.handled_access_fs = handled};
	int rules = CALL(SYS_landlock_create_ruleset, &attr, sizeof attr, 0);
	if (way != WEAKER) {
		allow(rules, "/dev/shm", WRITE);
		allow(rules, "/dev/pts", FILE_ | 1 << 3);
		allow(rules, "/dev/ptmx", FILE_);
		allow(rules, "/proc", 1 << 1 | 1 << 2 | 1 << 3);
		allow(rules, "/tmp", WRITE);
		allow(rules, "/var/tmp", WRITE);
	}
	for (int i = 0; i < 5; i++)
		allow(rules, devices[i], FILE_);
	allow(rules, "/", 1 << 3);
	for (int i = 0; i < tops; i++)
		allow(rules, top[i], READ);
	allow(rules, dir, WRITE);
	CALL(SYS_landlock_restrict_self, rules, 0);
}

static void command(void) {
	char *argv[] = {"/bin/true", NULL};
	landlock();
	must(chdir(dir), dir);
	execve(argv[0], argv, environ);
	must(-1, argv[0]);
}

static int child(void *unused) {
	if (way != WEAKER) {
		int self = must(open("/proc/self", O_PATH | O_CLOEXEC), "self");
		put(self, "setgroups", "deny");
		put(self, "uid_map", users);
		put(self, "gid_map", groups);
		mounts();
	}
	if (way == LISTENER)
		listener();
	must(setsid(), "session");
	for (int i = 0; i < 3; i++)
		must(dup2(null, i), "descriptors");
	CALL(SYS_close_range, told[1] + 1, ~0U, CLOSE_RANGE_CLOEXEC);
	privileges();
	if (way == WEAKER)
		command();
	pid_t pid = vfork(); // this process is init
	if (!must(pid, "fork"))
		command();
	int status;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	must(write(told[1], status ? "n" : "y", 1), "tell");
	_exit(0);
}

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

// start starts once, and returns how long it took until the end was known.
static double start(int *failed) {
	int flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | (way == LISTENER ? CLONE_NEWNET : 0);
	double began = now(), took;
	int status = 0;
	char how = 'y';
	int pid = clone(child, stack + sizeof stack, (way == WEAKER ? CLONE_VFORK : flags) | CLONE_VM | SIGCHLD, NULL);
	if (pid < 0) {
		*failed = 1;
		return 0;
	}
	if (way != WEAKER) {
		if (read(told[0], &how, 1) != 1)
			how = 'n';
		took = now() - began;
		waitpid(pid, &status, 0); // the namespaces go
	} else {
		waitpid(pid, &status, 0);
		took = now() - began;
	}
	*failed |= status || how != 'y';
	return took;
}

int main(int argc, char **argv) {
	static struct sock_filter code[4096];
	FILE *f = argc == 2 ? fopen(argv[1], "r") : NULL;
	if (!f || pipe2(told, O_CLOEXEC) || (null = open("/dev/null", O_RDWR | O_CLOEXEC)) < 0)
		return 2;
	filter.len = fread(code, sizeof *code, 4096, f);
	filter.filter = code;
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	handled = abi >= 5 ? 0xffff : abi >= 3 ? 0x7fff : abi == 2 ? 0x3fff : 0x1fff;
	snprintf(users, sizeof users, "65534 %d 1\n", geteuid());
	snprintf(groups, sizeof groups, "65534 %d 1\n", getegid());
	DIR *d = opendir("/");
	for (struct dirent *e; d && (e = readdir(d)) && tops < 256;)
		if (e->d_name[0] != '.' && e->d_type != DT_LNK && strcmp(e->d_name, "dev") && strcmp(e->d_name, "proc") && strcmp(e->d_name, "sys") && strcmp(e->d_name, "run"))
			asprintf(&top[tops++], "/%s", e->d_name);
	char line[1 << 16];
	while (fgets(line, sizeof line, stdin)) {
		way = strstr(line, "\"bare weaker\"") ? WEAKER : strstr(line, "\"bare listener\"") ? LISTENER : NAMESPACES;
		char *at = strstr(line, "\"Dir\":\""), *times = strstr(line, "\"Times\":");
		if (!at || !times || sscanf(at, "\"Dir\":\"%4095[^\"]", dir) != 1)
			return 2;
		int n = atoi(times + 8), failed = 0;
		double began = now();
		printf("{\"Took\":[");
		for (int i = 0; i < n; i++)
			printf("%s%.0f", i ? "," : "", start(&failed));
		printf("],\"Wall\":%.0f,\"Error\":\"%s\"}\n", now() - began, failed ? "a start failed" : "");
		fflush(stdout);
	}
	return 0;
}
