/* holdfast.h: records spoken takes and keeps them. C99.
 *
 * Every function may be called from any thread, at any time, with any handle: NULL, one that was destroyed, or a call at the
 * wrong moment is answered with a status below 0, and changes nothing. Functions that return int return a holdfast_status.
 *
 * Text is UTF-8 (paths: any bytes) and ends with a NUL. Text that you pass in is copied. Text that you get is yours or lent: a
 * `char **` is yours, to be freed by holdfast_free; a `const char *` is lent, for as long as its comment says.
 *
 * Structs begin with their size, which you set to sizeof: a library that is newer fills no more than that, and an older one tells
 * you by the size it leaves there how much it filled.
 *
 * A process that forks must not use the library in the child (HOLDFAST_FORKED): threads aren't copied. The child holds the takes'
 * locks until it ends or runs another program.
 */
#ifndef HOLDFAST_H
#define HOLDFAST_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The library's version, such as "0.1.0". Lent for ever. */
const char *holdfast_version(void);

/** What a call came to. From 64 on these are the command's exit codes (sysexits.h). */
typedef enum holdfast_status {
  HOLDFAST_OK = 0,           /**< done */
  HOLDFAST_TIMEOUT = 1,      /**< nothing came in time */
  HOLDFAST_END = 2,          /**< there is nothing more */
  HOLDFAST_KEPT = 3,         /**< done, but for what isn't Holdfast's own */
  HOLDFAST_ARGUMENT = -1,    /**< NULL, a handle that was destroyed, a size that is too small */
  HOLDFAST_STATE = -2,       /**< a call at the wrong time; nothing changed */
  HOLDFAST_FORKED = -3,      /**< in a forked child */
  HOLDFAST_USAGE = 64,       /**< settings that can't be */
  HOLDFAST_DAMAGED = 65,     /**< damaged, or no audio in it */
  HOLDFAST_NO_INPUT = 66,    /**< no such file or take */
  HOLDFAST_NO_DEVICE = 69,   /**< no such device, no microphone, no sound server, or lost for good */
  HOLDFAST_NO_OUTPUT = 73,   /**< the take can't be made there */
  HOLDFAST_IO = 74,          /**< I/O error or disk full */
  HOLDFAST_BUSY = 75,        /**< another program has it; try again */
  HOLDFAST_DENIED = 77       /**< the user may not */
} holdfast_status;

/** A word or two on a status, such as "busy, try again". Lent for ever; never NULL. */
const char *holdfast_status_text(int status);

/** What a front end shows. */
typedef enum holdfast_state {
  HOLDFAST_IDLE, HOLDFAST_PREPARING, HOLDFAST_ARMED, HOLDFAST_RECORDING, HOLDFAST_PAUSED, HOLDFAST_INTERRUPTED,
  HOLDFAST_SEALING, HOLDFAST_SEALED, HOLDFAST_FAILED, HOLDFAST_DISCARDED, HOLDFAST_DENIED_STATE, HOLDFAST_UNAVAILABLE
} holdfast_state;

/** Why a take is interrupted. */
typedef enum holdfast_reason {
  HOLDFAST_NO_REASON, HOLDFAST_DEVICE_LOST, HOLDFAST_SUSPENDED, HOLDFAST_SERVER_GONE, HOLDFAST_DEVICE_TAKEN,
  HOLDFAST_OVERRUN_STORM, HOLDFAST_DEVICE_SILENT, HOLDFAST_ROUTE_CHANGED, HOLDFAST_DISK_FULL, HOLDFAST_DISK_READONLY,
  HOLDFAST_DISK_ERROR, HOLDFAST_FOLDER_GONE, HOLDFAST_LEFT, HOLDFAST_KILLED
} holdfast_reason;

/** How to record. Fill it with holdfast_settings_init, and change what you want. */
typedef struct holdfast_settings {
  size_t size;
  const char *input;       /**< alsa:NAME, file:PATH, tone:HZ[,DBFS]; NULL: the default microphone */
  const char *output;      /**< .../NAME.opus; NULL: a new name in `folder` */
  const char *folder;      /**< takes without `output`, and those whose own folder goes; NULL: $XDG_DATA_HOME/holdfast/takes */
  const char *unfinished;  /**< NAME.opus of an unfinished take to go on with; NULL: a new take */
  const char *context;     /**< opaque, at most 4 096 bytes; comes back in events, manifest and pending takes; NULL: none */
  const char *take_id;     /**< NULL: a random one */
  int64_t max_ms;          /**< effective milliseconds after which it stops; 0: none */
  int64_t min_valid_ms;    /**< shorter takes are too short; 0: none */
  int64_t pre_roll_ms;     /**< of sound from before the start of an armed recorder, at most 60 000 */
  int32_t bitrate;         /**< bits a second; 0: 32 000 */
  int32_t complexity;      /**< of the encoder, 0 to 10; -1: 10 */
  int32_t channel;         /**< from 1; 0: all, mixed */
  int32_t wait_device_s;   /**< seconds a lost device is waited for; -1: until go_on, keep or discard */
  int32_t period_ms;       /**< frames a device hands over at a time; 0: 10 */
  int32_t force;           /**< not 0: replaces an existing take (it goes to the trash) */
  int32_t close_gaps;      /**< not 0: overruns are left out instead of filled with silence */
  int32_t realtime;        /**< not 0: a file or tone at the speed it sounds */
} holdfast_settings;

/** `size` is sizeof(holdfast_settings): no more than that is filled. */
void holdfast_settings_init(holdfast_settings *settings, size_t size);

/** One take. */
typedef struct holdfast_recorder holdfast_recorder;

/** Makes a recorder; no device is opened and no file made. Destroy it in the end. `error` (may be NULL): what is wrong with the
 * settings, one line, yours to free; NULL where nothing is. */
int holdfast_recorder_create(const holdfast_settings *settings, holdfast_recorder **recorder, char **error);

/** Ends and frees it. A take that is under way is left, as by holdfast_recorder_leave. Waits for that, and until the callback has
 * had all events that it hasn't had yet, but for levels: don't hold a lock that it takes. Called in that callback it waits for
 * nothing, and what it hasn't had is lost. Afterwards no callback comes any more. */
int holdfast_recorder_destroy(holdfast_recorder *recorder);

/** Whether the input may be listened to: OK, DENIED, or why that can't be told now (NO_DEVICE, BUSY, ...). Makes no take. */
int holdfast_recorder_permission(holdfast_recorder *recorder);

/** Opens the input and listens; nothing is recorded yet. */
int holdfast_recorder_arm(holdfast_recorder *recorder);
/** Opens the input where it isn't open yet, makes the take and records. OK: the take exists. A recorder has one take. */
int holdfast_recorder_start(holdfast_recorder *recorder);
/** Takes effect at the frame captured now. STATE where nothing is recorded. */
int holdfast_recorder_pause(holdfast_recorder *recorder);
/** Goes on at the frame captured now. STATE where it isn't paused. */
int holdfast_recorder_resume(holdfast_recorder *recorder);
/** Marks this moment. `label` may be NULL; USAGE where it has more than 4096 bytes, and nothing is marked then. */
int holdfast_recorder_mark(holdfast_recorder *recorder, const char *label);
/** Stops and seals. Returns at once; the event `sealed` tells the rest. A second stop is OK, and does nothing. */
int holdfast_recorder_stop(holdfast_recorder *recorder);
/** After an interruption: tries the device again. */
int holdfast_recorder_go_on(holdfast_recorder *recorder);
/** After an interruption: seals what there is. */
int holdfast_recorder_keep(holdfast_recorder *recorder);
/** Keeps the take unfinished, for `unfinished` of a later recorder, or for holdfast_recover. OK, and nothing, once it has ended. */
int holdfast_recorder_leave(holdfast_recorder *recorder);
/** Moves the take to the trash. */
int holdfast_recorder_discard(holdfast_recorder *recorder);
/** Waits until the take is sealed, left, discarded or failed. Milliseconds; below 0: without end. OK, or TIMEOUT;
 * STATE before it was begun. */
int holdfast_recorder_wait(holdfast_recorder *recorder, int64_t timeout_ms);

/** What failed last, one line that says what to do, as soon as its state tells it; else why a call was refused; "" where there was
 * neither. Yours to free. */
int holdfast_recorder_error(holdfast_recorder *recorder, char **text);
/** NAME.opus of the take; NULL before it is begun. Yours to free. */
int holdfast_recorder_path(holdfast_recorder *recorder, char **path);

/** All that a screen shows. */
typedef struct holdfast_snapshot {
  size_t size;
  int32_t state;             /**< holdfast_state */
  int32_t reason;            /**< holdfast_reason, while interrupted */
  int64_t effective_ms;      /**< time in the take */
  int64_t effective_frames;  /**< the same in 48 kHz frames */
  int64_t missing_ms;        /**< to the shortest valid take, rounded up */
  double level_db;           /**< RMS of the newest 33 ms, dBFS, -160 to 0 */
  double peak_db;            /**< highest sample of the same, dBFS, -160 to 0 */
  float bars[34];            /**< 0 to 1, oldest first */
  int32_t speaking;          /**< 0 or 1 */
  int32_t pause_count;       /**< pauses that the person made */
  int32_t can_submit;        /**< 0 or 1 */
  uint32_t warnings;         /**< bits: holdfast_warning */
} holdfast_snapshot;

/** What may be wrong while it records; each comes and goes. */
typedef enum holdfast_warning {
  HOLDFAST_NO_SIGNAL = 1,   /**< muted or dead microphone, for 2 s and more */
  HOLDFAST_CLIPPING = 2,    /**< too loud: the microphone is too near, or its gain too high */
  HOLDFAST_TOO_QUIET = 4,   /**< speech, but far below what it should be */
  HOLDFAST_SILENCE = 8,     /**< it will stop soon, if nobody speaks */
  HOLDFAST_DISK_SLOW = 16,  /**< a kill now would lose more than 50 ms */
  HOLDFAST_LOW_DISK = 32    /**< little space left */
} holdfast_warning;

/** Never waits for the recorder, nor the recorder for it: read it as often as the screen is drawn. */
int holdfast_recorder_snapshot(holdfast_recorder *recorder, holdfast_snapshot *snapshot);

/** What happened. */
typedef enum holdfast_event_type {
  HOLDFAST_EVENT_OTHER, HOLDFAST_EVENT_STATE, HOLDFAST_EVENT_LEVEL, HOLDFAST_EVENT_SPEECH, HOLDFAST_EVENT_MARK,
  HOLDFAST_EVENT_GAP, HOLDFAST_EVENT_WARNING, HOLDFAST_EVENT_INTERRUPTED, HOLDFAST_EVENT_RESUMED,
  HOLDFAST_EVENT_DISCARDED, HOLDFAST_EVENT_SEALED, HOLDFAST_EVENT_ERROR
} holdfast_event_type;

/** One thing that happened. */
typedef struct holdfast_event {
  size_t size;
  int32_t type;          /**< holdfast_event_type; new ones are OTHER to you */
  int32_t state;         /**< STATE: holdfast_state */
  int32_t reason;        /**< INTERRUPTED, RESUMED, and STATE while interrupted: holdfast_reason */
  int32_t status;        /**< ERROR: holdfast_status */
  int64_t effective_ms;  /**< where in the take; 0 where that says nothing */
  const char *json;      /**< the whole of it, as `holdfast record --json` prints it; docs/schema/events.json */
} holdfast_event;

/** The next event. Milliseconds to wait for one; below 0: without end. OK, TIMEOUT, or END. `json` is lent until the next call for
 * this recorder. One thread at a time (STATE for the others), and not beside a callback. A slow reader loses levels and
 * nothing else. */
int holdfast_recorder_next_event(holdfast_recorder *recorder, int64_t timeout_ms, holdfast_event *event);

/** Gets the events as they come, on a thread of the library's, `json` lent until it returns. It may call any function here, also
 * destroy. */
typedef void (*holdfast_callback)(const holdfast_event *event, void *user);
/** Before arm or start only (STATE later). NULL: none. */
int holdfast_recorder_set_callback(holdfast_recorder *recorder, holdfast_callback callback, void *user);

/* JSON texts as the command prints them with --json; yours to free. On an error too: an object with `code`, `kind`, `message`. */
/** A line a take of the folder (NULL: the standard one), finished, unfinished and unreadable: docs/schema/list.json. `context`:
 * only those of this one; NULL: all. Nothing is changed, nothing decoded. */
int holdfast_list(const char *folder, const char *context, char **json);
/** NAME.opus of the newest unfinished take that nobody records, of this context or (NULL) of any, for `unfinished` of a recorder
 * or for holdfast_recover; yours to free. END where there is none, nor such a folder. */
int holdfast_unfinished(const char *folder, const char *context, char **path);
/** Deletes for good: all takes of a context, or (NULL) of the whole folder, unfinished and discarded ones too. BUSY where one
 * is being recorded, KEPT where something lies there that isn't Holdfast's: the others are gone. `json` (may be NULL): an
 * object of the lists `gone`, `recording` and `kept`; yours to free. */
int holdfast_wipe(const char *folder, const char *context, char **json);
/** What the file at `path` is: docs/schema/inspect.json. */
int holdfast_inspect(const char *path, char **json);
/** Seals an unfinished take, or all of a folder; a line a take: docs/schema/recover.json. */
int holdfast_recover(const char *path, char **json);
/** Moves the unfinished take NAME.opus at `path` into the trash beside it, from where `holdfast restore` or 7 days take it.
 * NO_INPUT where there is none, BUSY where it is being recorded. The line is the event `discarded`. */
int holdfast_discard(const char *path, char **json);

/** Frees a text that is yours. NULL is nothing. */
void holdfast_free(char *text);

#ifdef __cplusplus
}
#endif
#endif
