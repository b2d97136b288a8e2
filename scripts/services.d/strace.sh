# strace makes system calls of stores fail, see internal/crashtest.
strace_env() { packages strace:strace; }
strace_start() { strace_env; }
