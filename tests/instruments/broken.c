// SPDX-License-Identifier: GPL-2.0
/*
 * Makes the mistake that it is told to make while it is loaded, and does not
 * stay: for seeing that the instruments of the kernels that look for it notice.
 */

#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timer.h>

static char *mistake = "";
module_param(mistake, charp, 0);
MODULE_PARM_DESC(mistake, "Which one to make");

/* What the compiler must not know. */
static volatile int forty = 40;
static void *volatile lost;

static void use_after_free(void)
{
	volatile char *memory = kmalloc(100, GFP_KERNEL);

	if (!memory)
		return;
	kfree((void *)memory);
	pr_info("broken: %d\n", memory[10]);
}

static void lose(void)
{
	int i;

	/* Many, as a pointer to one of them may linger somewhere. */
	for (i = 0; i < 32; i++)
		lost = kmalloc(200, GFP_KERNEL);
	lost = NULL;
}

static void shift(void)
{
	pr_info("broken: %d\n", 1 << forty);
}

static void never(struct timer_list *timer)
{
}

static void active_timer(void)
{
	struct timer_list *timer = kmalloc(sizeof(*timer), GFP_KERNEL);

	if (!timer)
		return;
	timer_setup(timer, never, 0);
	mod_timer(timer, jiffies + 1000 * HZ);
	kfree(timer);
}

static void sleep_in_atomic(void)
{
	static DEFINE_SPINLOCK(lock);

	spin_lock(&lock);
	might_sleep();
	spin_unlock(&lock);
}

/* A mistake where a spinlock sleeps. */
static void spinlock_in_atomic(void)
{
	static DEFINE_SPINLOCK(lock);

	preempt_disable();
	spin_lock(&lock);
	spin_unlock(&lock);
	preempt_enable();
}

static void lock_inversion(void)
{
	static DEFINE_MUTEX(a);
	static DEFINE_MUTEX(b);

	mutex_lock(&a);
	mutex_lock(&b);
	mutex_unlock(&b);
	mutex_unlock(&a);

	mutex_lock(&b);
	mutex_lock(&a);
	mutex_unlock(&a);
	mutex_unlock(&b);
}

/* What two threads change at once, without a word to the compiler or with one. */
static int shared;

static noinline void change(void)
{
	shared++;
}

static noinline void change_marked(void)
{
	WRITE_ONCE(shared, READ_ONCE(shared) + 1);
}

static int changes(void *change)
{
	while (!kthread_should_stop()) {
		((void (*)(void))change)();
		cond_resched();
	}
	return 0;
}

static void at_once(void (*change)(void))
{
	struct task_struct *other = kthread_run(changes, change, "broken");
	unsigned long end = jiffies + 5 * HZ;

	if (IS_ERR(other))
		return;
	while (time_before(jiffies, end)) {
		change();
		cond_resched();
	}
	kthread_stop(other);
}

static void plain_race(void)
{
	at_once(change);
}

static void marked_race(void)
{
	at_once(change_marked);
}

static const struct {
	const char *name;
	void (*make)(void);
} mistakes[] = {
	{ "use-after-free", use_after_free },
	{ "leak", lose },
	{ "shift", shift },
	{ "active-timer", active_timer },
	{ "sleep-in-atomic", sleep_in_atomic },
	{ "spinlock-in-atomic", spinlock_in_atomic },
	{ "lock-inversion", lock_inversion },
	{ "data-race", plain_race },
	{ "marked-race", marked_race },
};

static int __init broken_init(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(mistakes); i++) {
		if (!strcmp(mistake, mistakes[i].name)) {
			mistakes[i].make();
			return -EAGAIN;
		}
	}
	return -EINVAL;
}
module_init(broken_init);

MODULE_DESCRIPTION("Makes mistakes");
MODULE_LICENSE("GPL");
