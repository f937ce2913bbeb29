-- What memorybus at version 3 of its schema (commit cc073b6) had written of six turns, as sqlite3's .dump tells it:
-- a repeat in t2, a long text in t4, t5 forgotten and swept, t3 pinned; t6 is bob's.
PRAGMA application_id = 1835363682;
PRAGMA user_version = 3;
BEGIN TRANSACTION;
CREATE TABLE digests (
        user_id TEXT NOT NULL, space TEXT NOT NULL, digest TEXT NOT NULL,
        until INTEGER NOT NULL,
        PRIMARY KEY (user_id, space, digest)) WITHOUT ROWID;
INSERT INTO "digests" VALUES('ann','default','52c7e26cecfb01e7f6ddfba39f11145e',4102444800000000);
INSERT INTO "digests" VALUES('ann','default','ddf031f781a349ef66bc27a56728147f',4102444800000000);
CREATE TABLE entries (
        doc INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE, scope INTEGER NOT NULL, session INTEGER, spot INTEGER NOT NULL,
        created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
        status TEXT NOT NULL, enriched INTEGER NOT NULL, embedding_state TEXT NOT NULL, version INTEGER NOT NULL,
        words TEXT NOT NULL, body TEXT NOT NULL, held INTEGER NOT NULL DEFAULT 0, last_said_at INTEGER NOT NULL DEFAULT 0);
INSERT INTO "entries" VALUES(4294967297,'d1b96a76-9642-51e3-be01-14585c35d463',1,1,4294967297,1769947260000000,1795379975476681,'active',0,'pending',2,'my locker work ha code 4007','{"id":"d1b96a76-9642-51e3-be01-14585c35d463","user_id":"ann","space":"default","conversation_id":"c1","session_id":"fd1a3d20-daaf-5327-a5cb-d614e7a20d11","turn_id":"t1","ordinal":0,"role":"user","text":"My locker at work has the code 4007.","type":"fact","subject":"none","entity_refs":[],"themes":[],"tags":[],"entities":[],"source_ids":[],"metadata_confidence":0.0,"importance":0.30000000000000004,"pinned":false,"manually_saved":false,"repeat_count":1,"repeated_in":[{"conversation_id":"c1","turn_id":"t2","at":"2026-02-01T12:02:00Z"}],"exact_hash":"50b47b63413b9687583756e34d740a0f","statement_hash":"1c30baf49ccbdfde9cab0b0e818f61d2","simhash":"1e10c3814237420d","typo_hash":"","minhash_bands":[],"status":"active","enriched":false,"embedding_state":"pending","created_at":"2026-02-01T12:01:00Z","last_said_at":"2026-02-01T12:02:00Z","clock_ahead":false,"updated_at":"2026-11-22T20:39:35.476681Z","version":2,"level":1}',0,1769947320000000);
INSERT INTO "entries" VALUES(4294967298,'2f3b0e8a-0aa3-5cd1-90e2-18214a46b756',1,1,4294967298,1769947380000000,1795379975510892,'active',0,'pending',2,'my sister live lisbon','{"id":"2f3b0e8a-0aa3-5cd1-90e2-18214a46b756","user_id":"ann","space":"default","conversation_id":"c1","session_id":"fd1a3d20-daaf-5327-a5cb-d614e7a20d11","turn_id":"t3","ordinal":0,"role":"user","text":"My sister lives in Lisbon","type":"fact","subject":"none","entity_refs":[],"themes":[],"tags":[],"entities":[],"source_ids":[],"metadata_confidence":0.0,"importance":0.2,"pinned":true,"manually_saved":false,"repeat_count":0,"repeated_in":[],"exact_hash":"4dd6aacb63d150a9566853a573502c8c","statement_hash":"4dd6aacb63d150a9566853a573502c8c","simhash":"1b9ad697cd27201f","typo_hash":"","minhash_bands":[],"status":"active","enriched":false,"embedding_state":"pending","created_at":"2026-02-01T12:03:00Z","last_said_at":"2026-02-01T12:03:00Z","clock_ahead":false,"updated_at":"2026-11-22T20:39:35.510892Z","version":2,"level":1}',1,1769947380000000);
INSERT INTO "entries" VALUES(4294967299,'14abfc80-19e3-536f-9d6c-37b3f51a5c3a',1,1,4294967299,1769947440000000,1795379975523332,'active',0,'pending',1,'quarterli review northern warehous take place larg meet room second floor everybodi who respons deliveri bring figur former quarter them so we can compar cost transport storag packag those were plan spring befor price rose again','{"id":"14abfc80-19e3-536f-9d6c-37b3f51a5c3a","user_id":"ann","space":"default","conversation_id":"c1","session_id":"fd1a3d20-daaf-5327-a5cb-d614e7a20d11","turn_id":"t4","ordinal":0,"role":"user","text":"The quarterly review of the northern warehouse takes place in the large meeting room on the second floor and everybody who is responsible for deliveries brings the figures of the former quarter with them so that we can compare the costs of transport, storage and packaging with those that were planned in spring before the prices rose again","type":"other","subject":"none","entity_refs":[],"themes":[],"tags":[],"entities":[],"source_ids":[],"metadata_confidence":0.0,"importance":0.2,"pinned":false,"manually_saved":false,"repeat_count":0,"repeated_in":[],"exact_hash":"54948bddcfd06af70173ed52efe34b58","statement_hash":"da33f59e7d6c1cc4ce20b77bcf5106e1","simhash":"2a128690ec2bf23e","typo_hash":"270fe63d964176b150061a9f6a46b5ad","minhash_bands":[],"status":"active","enriched":false,"embedding_state":"pending","created_at":"2026-02-01T12:04:00Z","last_said_at":"2026-02-01T12:04:00Z","clock_ahead":false,"updated_at":"2026-11-22T20:39:35.523332Z","version":1,"level":1}',0,1769947440000000);
INSERT INTO "entries" VALUES(4294967300,'8c3aa9e0-7bca-5fdc-a705-35674b238097',1,1,4294967300,1769947500000000,1795379975542692,'forgotten',0,'pending',2,'','{"id":"8c3aa9e0-7bca-5fdc-a705-35674b238097","user_id":"ann","space":"default","conversation_id":"c1","session_id":"fd1a3d20-daaf-5327-a5cb-d614e7a20d11","turn_id":"t5","ordinal":0,"role":"user","text":"","type":"fact","subject":"none","entity_refs":[],"themes":[],"tags":[],"entities":[],"source_ids":[],"metadata_confidence":0.0,"importance":0.0,"pinned":false,"manually_saved":false,"repeat_count":0,"repeated_in":[],"exact_hash":"","statement_hash":"","simhash":"","typo_hash":"","minhash_bands":[],"status":"forgotten","enriched":false,"embedding_state":"pending","created_at":"2026-02-01T12:05:00Z","last_said_at":"2026-02-01T12:05:00Z","clock_ahead":false,"updated_at":"2026-11-22T20:39:35.542692Z","version":2,"level":0}',0,1769947500000000);
INSERT INTO "entries" VALUES(8589934593,'6bd03166-0e2a-5b9d-b4aa-425619ec1aab',2,2,8589934593,1769947560000000,1795379975536474,'active',0,'pending',1,'i prefer uv over pip','{"id":"6bd03166-0e2a-5b9d-b4aa-425619ec1aab","user_id":"bob","space":"default","conversation_id":"c1","session_id":"f0c70f5e-8e75-5721-8334-6b906d94a2b8","turn_id":"t6","ordinal":0,"role":"user","text":"I prefer uv over pip","type":"preference","subject":"none","entity_refs":[],"themes":[],"tags":[],"entities":[],"source_ids":[],"metadata_confidence":0.0,"importance":0.5,"pinned":false,"manually_saved":false,"repeat_count":0,"repeated_in":[],"exact_hash":"9774328a36ede4d8dfef9eb49640910b","statement_hash":"9774328a36ede4d8dfef9eb49640910b","simhash":"1533288c38e4da79","typo_hash":"","minhash_bands":[],"status":"active","enriched":false,"embedding_state":"pending","created_at":"2026-02-01T12:06:00Z","last_said_at":"2026-02-01T12:06:00Z","clock_ahead":false,"updated_at":"2026-11-22T20:39:35.536474Z","version":1,"level":2}',0,1769947560000000);
CREATE TABLE entry_conversations (
        scope INTEGER NOT NULL, conversation_id TEXT NOT NULL, doc INTEGER NOT NULL,
        PRIMARY KEY (scope, conversation_id, doc)) WITHOUT ROWID;
INSERT INTO "entry_conversations" VALUES(1,'c1',4294967297);
INSERT INTO "entry_conversations" VALUES(1,'c1',4294967298);
INSERT INTO "entry_conversations" VALUES(1,'c1',4294967299);
INSERT INTO "entry_conversations" VALUES(1,'c1',4294967300);
INSERT INTO "entry_conversations" VALUES(2,'c1',8589934593);
CREATE TABLE fingerprints (
        voice INTEGER NOT NULL, key INTEGER NOT NULL, number INTEGER NOT NULL,
        PRIMARY KEY (voice, key, number)) WITHOUT ROWID;
INSERT INTO "fingerprints" VALUES(1,453990952,3);
INSERT INTO "fingerprints" VALUES(1,747870033,2);
INSERT INTO "fingerprints" VALUES(1,1082883119,1);
INSERT INTO "fingerprints" VALUES(1,1785548072,3);
INSERT INTO "fingerprints" VALUES(2,988508799,1);
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE postings (
        scope INTEGER NOT NULL, block INTEGER NOT NULL, term TEXT NOT NULL, codes BLOB NOT NULL,
        PRIMARY KEY (scope, block, term)) WITHOUT ROWID;
INSERT INTO "postings" VALUES(1,0,'length',X'46008400E400');
INSERT INTO "postings" VALUES(1,0,'pinned',X'8100');
INSERT INTO "postings" VALUES(1,0,'typefact',X'410081000101');
INSERT INTO "postings" VALUES(1,0,'typeother',X'C100');
INSERT INTO "postings" VALUES(1,0,'4007',X'4100');
INSERT INTO "postings" VALUES(1,0,'again',X'C100');
INSERT INTO "postings" VALUES(1,0,'befor',X'C100');
INSERT INTO "postings" VALUES(1,0,'bring',X'C100');
INSERT INTO "postings" VALUES(1,0,'can',X'C100');
INSERT INTO "postings" VALUES(1,0,'code',X'4100');
INSERT INTO "postings" VALUES(1,0,'compar',X'C100');
INSERT INTO "postings" VALUES(1,0,'cost',X'C100');
INSERT INTO "postings" VALUES(1,0,'deliveri',X'C100');
INSERT INTO "postings" VALUES(1,0,'everybodi',X'C100');
INSERT INTO "postings" VALUES(1,0,'figur',X'C100');
INSERT INTO "postings" VALUES(1,0,'floor',X'C100');
INSERT INTO "postings" VALUES(1,0,'former',X'C100');
INSERT INTO "postings" VALUES(1,0,'ha',X'4100');
INSERT INTO "postings" VALUES(1,0,'larg',X'C100');
INSERT INTO "postings" VALUES(1,0,'lisbon',X'8100');
INSERT INTO "postings" VALUES(1,0,'live',X'8100');
INSERT INTO "postings" VALUES(1,0,'locker',X'4100');
INSERT INTO "postings" VALUES(1,0,'meet',X'C100');
INSERT INTO "postings" VALUES(1,0,'my',X'41008100');
INSERT INTO "postings" VALUES(1,0,'northern',X'C100');
INSERT INTO "postings" VALUES(1,0,'packag',X'C100');
INSERT INTO "postings" VALUES(1,0,'place',X'C100');
INSERT INTO "postings" VALUES(1,0,'plan',X'C100');
INSERT INTO "postings" VALUES(1,0,'price',X'C100');
INSERT INTO "postings" VALUES(1,0,'quarter',X'C100');
INSERT INTO "postings" VALUES(1,0,'quarterli',X'C100');
INSERT INTO "postings" VALUES(1,0,'respons',X'C100');
INSERT INTO "postings" VALUES(1,0,'review',X'C100');
INSERT INTO "postings" VALUES(1,0,'room',X'C100');
INSERT INTO "postings" VALUES(1,0,'rose',X'C100');
INSERT INTO "postings" VALUES(1,0,'second',X'C100');
INSERT INTO "postings" VALUES(1,0,'sister',X'8100');
INSERT INTO "postings" VALUES(1,0,'so',X'C100');
INSERT INTO "postings" VALUES(1,0,'spring',X'C100');
INSERT INTO "postings" VALUES(1,0,'storag',X'C100');
INSERT INTO "postings" VALUES(1,0,'take',X'C100');
INSERT INTO "postings" VALUES(1,0,'them',X'C100');
INSERT INTO "postings" VALUES(1,0,'those',X'C100');
INSERT INTO "postings" VALUES(1,0,'transport',X'C100');
INSERT INTO "postings" VALUES(1,0,'warehous',X'C100');
INSERT INTO "postings" VALUES(1,0,'we',X'C100');
INSERT INTO "postings" VALUES(1,0,'were',X'C100');
INSERT INTO "postings" VALUES(1,0,'who',X'C100');
INSERT INTO "postings" VALUES(1,0,'work',X'4100');
INSERT INTO "postings" VALUES(2,0,'length',X'4500');
INSERT INTO "postings" VALUES(2,0,'typepreference',X'4100');
INSERT INTO "postings" VALUES(2,0,'i',X'4100');
INSERT INTO "postings" VALUES(2,0,'over',X'4100');
INSERT INTO "postings" VALUES(2,0,'pip',X'4100');
INSERT INTO "postings" VALUES(2,0,'prefer',X'4100');
INSERT INTO "postings" VALUES(2,0,'uv',X'4100');
CREATE TABLE proposals (
        id TEXT PRIMARY KEY,
        turn INTEGER NOT NULL, scope INTEGER NOT NULL, ordinal INTEGER NOT NULL,
        logged_at INTEGER NOT NULL, decided_at INTEGER,
        outcome TEXT, entry_id TEXT, reason TEXT, text TEXT) WITHOUT ROWID;
INSERT INTO "proposals" VALUES('106db280-6266-5fab-8de6-7791e201e9e3',2,1,0,1795379975472739,1795379975478372,'merged','d1b96a76-9642-51e3-be01-14585c35d463',NULL,NULL);
INSERT INTO "proposals" VALUES('14abfc80-19e3-536f-9d6c-37b3f51a5c3a',4,1,0,1795379975516118,1795379975525039,'stored',NULL,NULL,NULL);
INSERT INTO "proposals" VALUES('2f3b0e8a-0aa3-5cd1-90e2-18214a46b756',3,1,0,1795379975501723,1795379975512294,'stored',NULL,NULL,NULL);
INSERT INTO "proposals" VALUES('6bd03166-0e2a-5b9d-b4aa-425619ec1aab',6,2,0,1795379975531670,1795379975537692,'stored',NULL,NULL,NULL);
INSERT INTO "proposals" VALUES('8c3aa9e0-7bca-5fdc-a705-35674b238097',5,1,0,1795379975526892,1795379975530009,'stored',NULL,NULL,NULL);
INSERT INTO "proposals" VALUES('d1b96a76-9642-51e3-be01-14585c35d463',1,1,0,1795379975462138,1795379975469853,'stored',NULL,NULL,NULL);
CREATE TABLE scopes (
        scope INTEGER PRIMARY KEY,
        user_id TEXT NOT NULL, space TEXT NOT NULL, persona_id TEXT NOT NULL,
        numbered INTEGER NOT NULL DEFAULT 0,
        entries INTEGER NOT NULL DEFAULT 0, words INTEGER NOT NULL DEFAULT 0,
        turns INTEGER NOT NULL DEFAULT 0, merged INTEGER NOT NULL DEFAULT 0, refused INTEGER NOT NULL DEFAULT 0, inactive INTEGER NOT NULL DEFAULT 0,
        UNIQUE (user_id, space, persona_id));
INSERT INTO "scopes" VALUES(1,'ann','default','',4,3,46,5,1,0,1);
INSERT INTO "scopes" VALUES(2,'bob','default','',1,1,5,1,0,0,0);
CREATE TABLE sessions (
        session INTEGER PRIMARY KEY,
        user_id TEXT NOT NULL, space TEXT NOT NULL, session_id TEXT NOT NULL,
        UNIQUE (user_id, space, session_id));
INSERT INTO "sessions" VALUES(1,'ann','default','fd1a3d20-daaf-5327-a5cb-d614e7a20d11');
INSERT INTO "sessions" VALUES(2,'bob','default','f0c70f5e-8e75-5721-8334-6b906d94a2b8');
CREATE TABLE turns (
        turn INTEGER PRIMARY KEY,
        user_id TEXT NOT NULL, space TEXT NOT NULL, turn_id TEXT NOT NULL,
        conversation_id TEXT NOT NULL, session_id TEXT NOT NULL, created_at INTEGER NOT NULL,
        body TEXT NOT NULL,
        UNIQUE (user_id, space, turn_id));
INSERT INTO "turns" VALUES(1,'ann','default','t1','c1','fd1a3d20-daaf-5327-a5cb-d614e7a20d11',1769947260000000,'{"user_id":"ann","role":"user","text":"My locker at work has the code 4007.","turn_id":"t1","space":"default","conversation_id":"c1","created_at":"2026-02-01T12:01:00Z","manually_saved":false,"tags":[],"source_ids":[],"clock_ahead":false,"session_id":"fd1a3d20-daaf-5327-a5cb-d614e7a20d11","redacted":false}');
INSERT INTO "turns" VALUES(2,'ann','default','t2','c1','fd1a3d20-daaf-5327-a5cb-d614e7a20d11',1769947320000000,'{"user_id":"ann","role":"user","text":"my locker at work has the code 4007!","turn_id":"t2","space":"default","conversation_id":"c1","created_at":"2026-02-01T12:02:00Z","manually_saved":false,"tags":[],"source_ids":[],"clock_ahead":false,"session_id":"fd1a3d20-daaf-5327-a5cb-d614e7a20d11","redacted":false}');
INSERT INTO "turns" VALUES(3,'ann','default','t3','c1','fd1a3d20-daaf-5327-a5cb-d614e7a20d11',1769947380000000,'{"user_id":"ann","role":"user","text":"My sister lives in Lisbon","turn_id":"t3","space":"default","conversation_id":"c1","created_at":"2026-02-01T12:03:00Z","manually_saved":false,"tags":[],"source_ids":[],"clock_ahead":false,"session_id":"fd1a3d20-daaf-5327-a5cb-d614e7a20d11","redacted":false}');
INSERT INTO "turns" VALUES(4,'ann','default','t4','c1','fd1a3d20-daaf-5327-a5cb-d614e7a20d11',1769947440000000,'{"user_id":"ann","role":"user","text":"The quarterly review of the northern warehouse takes place in the large meeting room on the second floor and everybody who is responsible for deliveries brings the figures of the former quarter with them so that we can compare the costs of transport, storage and packaging with those that were planned in spring before the prices rose again","turn_id":"t4","space":"default","conversation_id":"c1","created_at":"2026-02-01T12:04:00Z","manually_saved":false,"tags":[],"source_ids":[],"clock_ahead":false,"session_id":"fd1a3d20-daaf-5327-a5cb-d614e7a20d11","redacted":false}');
INSERT INTO "turns" VALUES(5,'ann','default','t5','c1','fd1a3d20-daaf-5327-a5cb-d614e7a20d11',1769947500000000,'{"user_id":"ann","role":"user","text":"[forgotten]","turn_id":"t5","space":"default","conversation_id":"c1","created_at":"2026-02-01T12:05:00Z","manually_saved":false,"tags":[],"source_ids":[],"clock_ahead":false,"session_id":"fd1a3d20-daaf-5327-a5cb-d614e7a20d11","redacted":true}');
INSERT INTO "turns" VALUES(6,'bob','default','t6','c1','f0c70f5e-8e75-5721-8334-6b906d94a2b8',1769947560000000,'{"user_id":"bob","role":"user","text":"I prefer uv over pip","turn_id":"t6","space":"default","conversation_id":"c1","created_at":"2026-02-01T12:06:00Z","manually_saved":false,"tags":[],"source_ids":[],"clock_ahead":false,"session_id":"f0c70f5e-8e75-5721-8334-6b906d94a2b8","redacted":false}');
CREATE TABLE voices (
        voice INTEGER PRIMARY KEY,
        scope INTEGER NOT NULL, role TEXT NOT NULL, speaker TEXT NOT NULL,
        UNIQUE (scope, role, speaker));
INSERT INTO "voices" VALUES(1,1,'user','');
INSERT INTO "voices" VALUES(2,2,'user','');
CREATE INDEX turns_said ON turns (user_id, space, conversation_id, created_at);
CREATE INDEX proposals_undecided ON proposals (logged_at, scope) WHERE outcome IS NULL;
CREATE INDEX entries_around ON entries (session, created_at, spot)
        WHERE status = 'active' AND session IS NOT NULL;
CREATE INDEX entries_embedding ON entries (embedding_state) WHERE status = 'active';
CREATE INDEX entries_unfinished ON entries (updated_at, enriched, embedding_state, scope)
        WHERE status = 'active' AND (enriched = 0 OR embedding_state = 'pending');
CREATE INDEX proposals_merged ON proposals (entry_id) WHERE outcome = 'merged';
CREATE INDEX entries_said ON entries (scope, status, last_said_at, created_at);
CREATE INDEX entries_ageing ON entries (last_said_at) WHERE status = 'active' AND held = 0;
COMMIT;
