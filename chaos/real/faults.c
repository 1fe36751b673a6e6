/* Preloaded into a broker: makes its calls fail while a file says so.

   The file named by CHAOS_FAULTS has lines "call errno path-prefix how", such as "fsync 5 /data/two/ once". With "once"
   the file is removed at the first failure, and later calls succeed: that is how Linux treats a second fsync. With "slow"
   the number is milliseconds, and the call succeeds after them. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int must_fail(const char *call, int fd) {
    const char *name = getenv("CHAOS_FAULTS");
    char text[2048], link[64], path[512];
    if (name == NULL)
        return 0;
    int file = (int)syscall(SYS_openat, AT_FDCWD, name, O_RDONLY | O_CLOEXEC, 0);
    if (file < 0)
        return 0;
    ssize_t size = syscall(SYS_read, file, text, sizeof text - 1);
    syscall(SYS_close, file);
    if (size <= 0)
        return 0;
    text[size] = 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        return 0;
    path[length] = 0;
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        char which[16], prefix[512], how[8] = "";
        int number;
        if (sscanf(line, "%15s %d %511s %7s", which, &number, prefix, how) < 3)
            continue;
        if (strcmp(which, call) != 0 || strncmp(path, prefix, strlen(prefix)) != 0)
            continue;
        if (strcmp(how, "slow") == 0) {
            usleep((useconds_t)number * 1000);
            return 0;
        }
        if (strcmp(how, "once") == 0)
            unlink(name);
        errno = number;
        return 1;
    }
    return 0;
}

#define REAL(name, type) ((type)dlsym(RTLD_NEXT, name))

int fsync(int fd) {
    return must_fail("fsync", fd) ? -1 : REAL("fsync", int (*)(int))(fd);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) {
    typedef ssize_t (*write_at)(int, const void *, size_t, off64_t);
    return must_fail("pwrite", fd) ? -1 : REAL("pwrite64", write_at)(fd, data, size, at);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t at) {
    return pwrite64(fd, data, size, at);
}

ssize_t pread64(int fd, void *data, size_t size, off64_t at) {
    typedef ssize_t (*read_at)(int, void *, size_t, off64_t);
    return must_fail("pread", fd) ? -1 : REAL("pread64", read_at)(fd, data, size, at);
}

ssize_t pread(int fd, void *data, size_t size, off_t at) {
    return pread64(fd, data, size, at);
}
